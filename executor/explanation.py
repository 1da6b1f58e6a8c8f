"""A planned query as text, JSON and pictures, and the rows that came of it."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from executor.formats import show_table
from executor.pictures import Memo, Plan, SearchTrace
from memo_viz.explain import Actuals, plan_json, plan_table, rules_text, search_text
from memo_viz.export import finite_json
from optimizer.errors import ExecutionError, SettingsError
from optimizer.pipeline import OptimizedQuery
from optimizer.trace.recorder import Trace
from optimizer.trace.replay import Replay

if TYPE_CHECKING:
    from executor.execution import Engine
    from optimizer.explanation.answer import Answer
    from optimizer.explanation.why import Why


class Planner(Protocol):
    """What plans a query again when more is asked about it: a session."""

    @property
    def engine(self) -> Engine: ...
    def optimize(self, sql: str, trace: Trace | None = None) -> OptimizedQuery: ...
    def why(self, sql: str) -> Why: ...


class Explanation:
    """A planned query. Prints as text; shows its plan as a picture in a notebook.

    `query` has everything the optimizer said; `actual` what each operator really did, after EXPLAIN ANALYZE.
    """

    def __init__(self, planner: Planner, query: OptimizedQuery, actual: Actuals | None = None) -> None:
        self._planner, self.query, self.actual = planner, query, actual

    @cached_property
    def plan(self) -> Plan:
        """As its engine runs it."""
        query = self.query
        return Plan(self._planner.engine.shown(query.plan, query.order, query.columns), query.columns, self.actual)

    @property
    def text(self) -> str:
        return self.show()

    def show(self, width: int = 100) -> str:
        """The plan with its figures in `width` columns, and what the search did."""
        query = self.query
        plan = plan_table(self.plan.root, query.columns, self.actual, width)
        notes = [f"\n        {note}" for stage in query.stages for note in stage.notes]
        notes += [f"\n        warning: {warning}" for warning in query.warnings]
        search = query.search.as_dict()
        rules = rules_text({**self.rewrites, "search": search["rules_fired"]}, width)
        return "\n\n".join(filter(None, (plan, rules, search_text(search, query.ms, query.cost, width) + "".join(notes))))

    @property
    def rewrites(self) -> dict[str, dict[str, int]]:
        """How often each rule fired in each stage before the search."""
        names = {stage.name: (firing.rule for firing in stage.rewritings) for stage in self.query.stages}
        return {stage: dict(Counter(rules)) for stage, rules in names.items()}

    @property
    def json(self) -> dict[str, Any]:
        """The object that `planscope explain --format json` prints; what is infinite or unknown is None."""
        query = self.query
        return {
            "sql": query.sql,
            "engine": self._planner.engine.name,
            "settings": query.settings.as_dict(),
            "cost": finite_json(query.cost),
            "rows": finite_json(query.rows),
            **({"warnings": list(query.warnings)} if query.warnings else {}),
            "search": {**query.search.as_dict(), "ms": {name: round(ms, 3) for name, ms in query.ms.items()}},
            "plan": plan_json(self.plan.root, query.columns, self.actual),
        }

    def why(
        self, *, join_order: str | None = None, rule: str | None = None, operator: str | None = None, mexpr: int | None = None,
        plan: Any = None,
    ) -> Answer:  # fmt: skip
        """Why the plan is not another: one with a join order, of a rule, with an operator, of a multi-expression, or a whole plan
        (`json` of another explanation). Raises SettingsError for what is none, and unless one thing is asked."""
        asked = {"join_order": join_order, "rule": rule, "operator": operator, "mexpr": mexpr, "plan": plan}
        given = {name: value for name, value in asked.items() if value is not None}
        if len(given) != 1:
            raise SettingsError(f"ask about one of {', '.join(asked)}, not {len(given)}")
        ((name, value),) = given.items()
        answer: Answer = getattr(self._planner.why(self.query.sql), name)(value)
        return answer

    @cached_property
    def trace(self) -> SearchTrace:
        """Every event of the search. Planning is deterministic, so it is done again, recorded, when first asked for."""
        found = self.actual
        rows = None if found is None else [found.get(node.id) for node in self.query.plan.walk()]
        trace = SearchTrace(self.query.sql, rows)
        self._planner.optimize(self.query.sql, trace)
        return trace

    @cached_property
    def memo(self) -> Memo:
        """The memo when the search had ended, rebuilt from the trace."""
        return Memo(Replay(self.trace.events).final())

    def __repr__(self) -> str:
        return self.text

    def _repr_svg_(self) -> str:
        return self.plan._repr_svg_()


class Result:
    """The rows of a query and how they came about."""

    def __init__(self, table: pa.Table, explanation: Explanation) -> None:
        self.table, self.explanation = table, explanation

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a Result cannot be pickled: pickle its table, an Arrow table, or the SQL")

    @property
    def plan(self) -> Plan:
        return self.explanation.plan

    @property
    def memo(self) -> Memo:
        return self.explanation.memo

    @property
    def trace(self) -> SearchTrace:
        return self.explanation.trace

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame. Raises ExecutionError where pandas is not installed."""
        _check_installed("pandas")
        return self.table.to_pandas()

    def to_polars(self) -> Any:
        """The rows as a Polars DataFrame. Raises ExecutionError where Polars is not installed."""
        _check_installed("polars")
        import polars

        return polars.from_arrow(self.table)

    @property
    def text(self) -> str:
        """The first 200 rows as an aligned table."""
        return show_table(self.table, 200)

    def __repr__(self) -> str:
        return show_table(self.table, 20)


def _check_installed(package: str) -> None:
    if find_spec(package) is None:
        raise ExecutionError(f"{package} is not installed: pip install {package}")
