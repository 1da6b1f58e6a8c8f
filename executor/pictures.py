"""What a notebook shows of a query: the physical plan and the memo as pictures, the trace as a page to step through."""

from collections.abc import Sequence
from typing import Any

from memo_viz.explain import Actual, Actuals, plan_table
from optimizer.algebra.columns import Columns
from optimizer.algebra.plan import PlanNode
from optimizer.errors import many
from optimizer.explanation.diagram import Diagram
from optimizer.trace.recorder import Trace
from optimizer.trace.state import MemoState


class Plan:
    """A physical plan: `root` is its top operator, whose attributes it has too, as the plan of `optimize` does."""

    def __init__(self, root: PlanNode, columns: Columns, actual: Actuals | None) -> None:
        self.root, self._columns, self._actual = root, columns, actual

    def __getattr__(self, name: str) -> Any:
        if name == "root" or name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.root, name)

    @property
    def svg(self) -> str:
        """A whole SVG document."""
        from memo_viz.plan_graph import plan_dot
        from memo_viz.svg import render_svg

        rows = None if self._actual is None else {id: found.rows for id, found in self._actual.items()}
        return render_svg(plan_dot(self.root, self._columns, rows))

    def __repr__(self) -> str:
        return plan_table(self.root, self._columns, self._actual)

    def _repr_svg_(self) -> str:
        from memo_viz.svg import inline_svg

        return inline_svg(self.svg)


class Memo:
    """The memo at the end of a search: `state` is the plain data."""

    def __init__(self, state: MemoState) -> None:
        self.state = state

    def graph(self, focus: int | None = None, depth: int | None = None, winners: bool = False) -> Any:
        """The memo or a part of it as a networkx graph (see `memo_viz.graph.memo_graph`)."""
        from memo_viz.graph import memo_graph

        return memo_graph(self.state, focus=focus, depth=depth, winners=winners)

    def svg(self, focus: int | None = None, depth: int | None = None, winners: bool = False) -> str:
        """A whole SVG document of the memo or of a part of it."""
        from memo_viz.dot import COMPLETE, memo_dot
        from memo_viz.svg import render_svg

        graph = self.graph(focus, depth, winners)
        part = focus is not None or depth is not None or winners
        return render_svg(memo_dot(graph, COMPLETE if part else None))

    def __repr__(self) -> str:
        groups = sum(1 for g in self.state.groups.values() if g.merged_into is None)
        mexprs, goals = len(self.state.mexprs), len(self.state.goals)
        return f"Memo({many(groups, 'group')}, {many(mexprs, 'multi-expression')}, {many(goals, 'goal')})"

    def _repr_svg_(self) -> str:
        from memo_viz.svg import inline_svg

        return inline_svg(self.svg())


class PlanDiagram(Diagram):
    """Which plan wins where; in a notebook, the picture. `title`: the query."""

    title = ""

    @property
    def svg(self) -> str:
        """A whole SVG document."""
        from memo_viz.plan_diagram import plan_diagram_svg

        return plan_diagram_svg(self.json, self.title)

    def __repr__(self) -> str:
        return self.show()

    def _repr_svg_(self) -> str:
        from memo_viz.svg import inline_svg

        return inline_svg(self.svg)


class SearchTrace(Trace):
    """The events of a search; in a notebook, a page that steps through them.

    `actual`: what each operator of the plan really did, in pre-order (None: not known), when it was run.
    """

    def __init__(self, title: str, actual: Sequence[Actual | None] | None) -> None:
        super().__init__()
        self._title, self._actual = title, actual

    @property
    def html(self) -> str:
        """A whole HTML document, to be written to a file."""
        from memo_viz.stepper.page import stepper_page

        actual = None
        if self._actual is not None:
            actual = [None if found is None else {"rows": float(found.rows), "ms": found.ms} for found in self._actual]
        return stepper_page(self.events, title=" ".join(self._title.split()), actual=actual)

    def __repr__(self) -> str:
        return f"SearchTrace({many(len(self.events), 'event')})"

    def _repr_html_(self) -> str:
        from memo_viz.stepper.page import in_frame

        return in_frame(self.html)
