"""The front door from Python.

from planscope import Session

session = Session("tpch:0.1")
result = session.sql("select count(*) from lineitem")     or a built-in query, tpch/q05
result.table      the rows, an Arrow table
result.plan       the physical plan; a picture in a notebook
result.memo       the memo of the search; a picture in a notebook
result.trace      the events of the search; a page to step through in a notebook
session.explain("...")   the plan without running it
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from executor.formats import show_table
from experiments.workloads.queries import default_data, named_sql, query_name
from memo_viz.explain import Actual, Actuals, finite, plan_json, plan_table, rules_text, search_text
from optimizer.algebra.columns import Columns, column_set
from optimizer.algebra.plan import PlanNode, prune_columns
from optimizer.algebra.printing import number
from optimizer.algebra.trees import Tree
from optimizer.catalog.table import Catalog
from optimizer.errors import CatalogError, ExecutionError, SettingsError
from optimizer.pipeline import OptimizedQuery, Optimizer
from optimizer.plugins.load import chosen_estimator, load_plugins
from optimizer.prepass.instructions import Program
from optimizer.prepass.program import PROGRAM
from optimizer.settings import Settings
from optimizer.sql.parameters import with_values
from optimizer.stats.injected import for_query
from optimizer.trace.recorder import Trace
from optimizer.trace.replay import Replay
from optimizer.trace.state import MemoState

if TYPE_CHECKING:
    from executor.arrow.counters import Counters
    from executor.arrow.watch import Limits, Watch
    from executor.counting.counter import RowCounter
    from optimizer.explanation.answer import Answer
    from optimizer.explanation.diagram import Diagram
    from optimizer.explanation.why import Why

ENGINE = "arrow"
MOST_PLANS = 100  # that a prepared query keeps
LONGEST_COUNT = 60e6  # microseconds, by the cost model, that counting one relation set may take


Values: TypeAlias = Sequence[Any] | Mapping[str, Any]


class Session:
    """A dataset and settings, ready for queries.

    `data`: a folder of tables, a built-in name such as `tpch:0.1` (made on first use), a Catalog, or tables by name as `register`
    takes them. `settings`: a Settings
    object or a mapping of setting names to values. `program`: what the pre-pass does. `plugins`: files of rules and the like,
    on top of those of the setting. `timeout`: seconds that a query may run once it is planned; `memory_limit`: what its operators
    may hold together, bytes or a text such as "256MB". A query over a limit raises ExecutionError, which names the operator, and
    the session goes on. Raises CatalogError, SettingsError.
    """

    def __init__(
        self,
        data: str | os.PathLike[str] | Catalog | Mapping[str, Any],
        settings: Settings | dict[str, Any] | None = None,
        program: Program = PROGRAM,
        plugins: Sequence[str | os.PathLike[str]] = (),
        timeout: float | None = None,
        memory_limit: int | str | None = None,
    ) -> None:
        self.limits = limits(timeout, memory_limit)
        self.settings = _settings(settings, plugins)
        self.program = program
        self._folder: TemporaryDirectory[str] | None = None
        if isinstance(data, Mapping):
            self.catalog = Catalog("session", ())
        else:
            self.catalog = data if isinstance(data, Catalog) else open_data(data)
        self.optimizer = self._optimizer(self.settings)
        for name, table in data.items() if isinstance(data, Mapping) else ():
            self.register(name, table)

    def register(self, name: str, data: Any) -> None:
        """A copy of `data` as the table `name`, instead of one that has this name. Raises CatalogError.

        An Arrow table, a pandas or Polars DataFrame, anything with the Arrow C stream interface, or a mapping from column names
        to lists or NumPy arrays.
        """
        from executor.registered import with_tables, written

        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="planscope-")  # goes with the session
        self.catalog = with_tables(self.catalog, [written(name, data, Path(self._folder.name))])
        self.optimizer = self._optimizer(self.settings)

    def optimize(self, sql: str, trace: Trace | None = None) -> OptimizedQuery:
        """Plan `sql`, with every intermediate tree. Raises SqlError, Unsupported, NoPlan.

        Here and below `sql` is text, or the name of a built-in query such as `tpch/q05`.
        """
        settings = for_query(self.settings, query_name(sql))
        optimizer = self.optimizer if settings is self.settings else self._optimizer(settings)
        return optimizer.optimize(named_sql(sql), trace)

    def _optimizer(self, settings: Settings) -> Optimizer:
        estimator = chosen_estimator(settings, load_plugins(settings.plugins), self._counter())
        return Optimizer(self.catalog, settings, program=self.program, estimator=estimator)

    def _counter(self) -> RowCounter | None:
        """What counts rows for the estimators that ask for it."""
        if self.settings.estimator not in ("true", "perturbed"):
            return None
        if self.catalog.statistics_only and self.settings.estimator == "true":
            raise SettingsError(
                f"estimator=true counts rows, and the dataset {self.catalog.name} has statistics only\n"
                "estimator=injected takes counts from a file"
            )
        return row_counter(self.catalog)

    def explain(self, sql: str, analyze: bool = False) -> Explanation:
        """Plan `sql` without running it; with `analyze`, run it too and count rows and time of each operator."""
        if analyze:
            self.check_rows()
        query = self.optimize(sql)
        return Explanation(self, query, self._measure(query) if analyze else None)

    def sql(self, sql: str, analyze: bool = False, values: Values = ()) -> Result:
        """Plan and run `sql`. `analyze`: also count rows and time of each operator. `values`: of its parameters, a sequence for
        ?, a mapping for $name. Raises also ExecutionError."""
        return self._result(self.optimize(_with_values(sql, values)), analyze)

    def prepare(self, sql: str) -> Prepared:
        """`sql` with parameters, to be run often. Raises SqlError for a built-in query that there is not."""
        return Prepared(self, named_sql(sql))

    def _result(self, query: OptimizedQuery, analyze: bool = False) -> Result:
        self.check_rows()
        counters = new_counters() if analyze else None
        table = reader(query, counters, self.limits).read_all()
        return Result(table, Explanation(self, query, None if counters is None else actuals(query.plan, counters)))

    def what_if(self, sql: str) -> WhatIf:
        """The plans of `sql` under other row counts and costs; its memo is explored once, here."""
        settings = self.settings.replace(driver="top_down", exploration="all")
        return WhatIf(Session(self.catalog, settings, self.program).optimize(sql))

    def why(self, sql: str, changes: bool = True) -> Why:
        """Something that answers one question about `sql`: `session.why(sql).join_order("((c o) l)")`, or rule, operator, mexpr
        or plan. The query is planned for it, so that every step can be looked at. `changes`: look for a row count that would
        turn the plan, which takes the longest."""
        from optimizer.explanation.why import Why

        region = "tasks" if self.settings.region == "auto" else self.settings.region
        trace = Trace()

        def again(order: str) -> OptimizedQuery:
            return Session(self.catalog, self.settings.replace(region=region, join_order=order), self.program).optimize(sql)

        query = Session(self.catalog, self.settings.replace(region=region), self.program).optimize(sql, trace)
        return Why(query, trace, again, changes)

    def batches(self, sql: str, values: Values = ()) -> pa.RecordBatchReader:
        """The rows of `sql` as a stream: it runs as it is read, and stops when it is dropped. Reading raises ExecutionError."""
        self.check_rows()
        return reader(self.optimize(_with_values(sql, values)), None, self.limits)

    def check_rows(self) -> None:
        """Raises CatalogError when the dataset has statistics only, so that nothing can be run on it."""
        if self.catalog.statistics_only:
            raise CatalogError(
                f"the dataset {self.catalog.name} has statistics only: its queries can be planned, not run\n"
                f"planscope explain shows the plan, without --analyze; planscope memo and planscope trace the search"
            )

    def _measure(self, query: OptimizedQuery) -> Actuals:
        counters = new_counters()
        for _ in reader(query, counters, self.limits):
            pass
        return actuals(query.plan, counters)

    def __repr__(self) -> str:
        return f"Session({self.catalog!r})"


class Prepared:
    """A query with parameters: planned for the values that it is run with, once for the same values."""

    def __init__(self, session: Session, sql: str) -> None:
        self._session, self.text = session, sql
        self._plans: dict[tuple[str, str], OptimizedQuery] = {}

    def sql(self, values: Values = ()) -> Result:
        """Raises as `Session.sql` does."""
        key = self._session.catalog.digest, _with_values(self.text, values)
        if key not in self._plans:
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            self._plans[key] = self._session.optimize(key[1])
        return self._session._result(self._plans[key])


class Explanation:
    """A planned query. Prints as text; shows its plan as a picture in a notebook.

    `query` has everything the optimizer said; `actual` what each operator really did, after EXPLAIN ANALYZE.
    """

    def __init__(self, session: Session, query: OptimizedQuery, actual: Actuals | None = None) -> None:
        self._session, self.query, self.actual = session, query, actual

    @property
    def plan(self) -> Plan:
        return Plan(self.query, self.actual)

    @property
    def text(self) -> str:
        return self.show()

    def show(self, width: int = 100) -> str:
        """The plan with its figures in `width` columns, and what the search did."""
        query = self.query
        plan = plan_table(query.plan, query.columns, self.actual, width)
        notes = [f"\n        {note}" for stage in query.stages for note in stage.notes]
        notes += [f"\n        warning: {warning}" for warning in query.warnings]
        search = query.search.as_dict()
        rules = rules_text({**self.rewrites, "search": search["rules_fired"]}, width)
        return "\n\n".join(filter(None, (plan, rules, search_text(search, query.ms, query.cost, width) + "".join(notes))))

    @property
    def rewrites(self) -> dict[str, dict[str, int]]:
        """How often each rule fired in each stage before the search."""
        names = {stage.name: (firing.rule.partition(":")[0] for firing in stage.rewritings) for stage in self.query.stages}
        return {stage: dict(Counter(rules)) for stage, rules in names.items()}

    @property
    def json(self) -> dict[str, Any]:
        """The object that `planscope explain --format json` prints; what is infinite or unknown is None."""
        query = self.query
        return {
            "sql": query.sql,
            "engine": ENGINE,
            "settings": query.settings.as_dict(),
            "cost": finite(query.cost),
            "rows": finite(query.rows),
            **({"warnings": list(query.warnings)} if query.warnings else {}),
            "search": {**query.search.as_dict(), "ms": {name: round(ms, 3) for name, ms in query.ms.items()}},
            "plan": plan_json(query.plan, query.columns, self.actual),
        }

    def why(
        self,
        *,
        join_order: str | None = None,
        rule: str | None = None,
        operator: str | None = None,
        mexpr: int | None = None,
        plan: Any = None,
    ) -> Answer:
        """Why the plan is not another: one with a join order, of a rule, with an operator, of a multi-expression, or a whole plan
        (`json` of another explanation). Raises SettingsError for what is none, ValueError unless one thing is asked."""
        asked = {"join_order": join_order, "rule": rule, "operator": operator, "mexpr": mexpr, "plan": plan}
        given = {name: value for name, value in asked.items() if value is not None}
        if len(given) != 1:
            raise ValueError(f"ask about one of {', '.join(asked)}, not {len(given)}")
        ((name, value),) = given.items()
        answer: Answer = getattr(self._session.why(self.query.sql), name)(value)
        return answer

    @cached_property
    def trace(self) -> SearchTrace:
        """Every event of the search. Planning is deterministic, so it is done again, recorded, when first asked for."""
        found = self.actual
        rows = None if found is None else [found.get(node.id) for node in self.query.plan.walk()]
        trace = SearchTrace(self.query.sql, rows)
        self._session.optimize(self.query.sql, trace)
        return trace

    @cached_property
    def memo(self) -> Memo:
        """The memo when the search had ended, rebuilt from the trace."""
        return Memo(Replay(self.trace.events).final())

    def __repr__(self) -> str:
        return self.text

    def _repr_svg_(self) -> str:
        return self.plan._repr_svg_()


class WhatIf:
    """A query whose figures may be changed: `query` as it was planned with the figures that are there."""

    def __init__(self, query: OptimizedQuery) -> None:
        from optimizer.explanation.recost import Recosting

        self.query = query
        query.give_groups()
        self._memo = Recosting(query.engine)

    def under(self, rows: Mapping[frozenset[str], float] | None = None, factors: Mapping[str, float] | None = None) -> Changed:
        """The cheapest plan if relation sets (aliases in lower case) have these rows and operators cost so many times as much."""
        found = self._memo.under(rows, factors)
        return Changed(self.query, found.plan, self._memo.cost_of(self.query.plan, rows, factors))

    def diagram(
        self,
        axes: Sequence[tuple[frozenset[str], float | None, float | None]],
        factors: Mapping[str, float] | None = None,
        points: int = 60,
    ) -> Diagram:
        """The plan diagram over the rows of one set of relations or two, each with the least and the greatest value (None: by
        the estimate)."""
        from optimizer.explanation.diagram import axis, diagram

        return diagram(self._memo, [axis(self._memo, *each, points) for each in axes], factors)


class Changed:
    """A plan under changed figures: `plan`, and `before`: what the plan chosen without the change costs now."""

    def __init__(self, query: OptimizedQuery, plan: PlanNode, before: float) -> None:
        self.query, self.plan, self.before = query, plan, before
        prune_columns(plan, column_set(output.id for output in query.outputs))

    @property
    def winner_changes(self) -> bool:
        return self.before > self.plan.cost * (1.0 + 1e-9)

    def show(self, width: int = 100) -> str:
        """The plan, and whether it is another one."""
        before, now = number(self.before), number(self.plan.cost)
        change = f"the winner changes: the plan chosen before would cost {before}, this one costs {now}"
        stays = f"the winner stays: it costs {now} now, and cost {number(self.query.cost)} before"
        return plan_table(self.plan, self.query.columns, None, width) + f"\n\n{change if self.winner_changes else stays}"

    @property
    def json(self) -> dict[str, Any]:
        return {
            "winner_changes": self.winner_changes,
            "cost": finite(self.plan.cost),
            "cost_of_plan_before": finite(self.before),
            "cost_before": finite(self.query.cost),
            "plan": plan_json(self.plan, self.query.columns),
        }

    def __repr__(self) -> str:
        return self.show()


class Result:
    """The rows of a query and how they came about."""

    def __init__(self, table: pa.Table, explanation: Explanation) -> None:
        self.table, self.explanation = table, explanation

    @property
    def plan(self) -> Plan:
        return self.explanation.plan

    @property
    def memo(self) -> Memo:
        return self.explanation.memo

    @property
    def trace(self) -> SearchTrace:
        return self.explanation.trace

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
        return f"SearchTrace({len(self.events):,} events)"

    def _repr_html_(self) -> str:
        from memo_viz.stepper.page import in_frame

        return in_frame(self.html)


class Plan:
    """A physical plan: `root` is its top operator."""

    def __init__(self, query: OptimizedQuery, actual: Actuals | None) -> None:
        self._query, self._actual = query, actual

    @property
    def root(self) -> PlanNode:
        return self._query.plan

    @property
    def svg(self) -> str:
        """A whole SVG document."""
        from memo_viz.plan_graph import plan_dot
        from memo_viz.svg import render_svg

        rows = None if self._actual is None else {id: found.rows for id, found in self._actual.items()}
        return render_svg(plan_dot(self.root, self._query.columns, rows))

    def __repr__(self) -> str:
        return plan_table(self.root, self._query.columns, self._actual)

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
        return f"Memo({groups} groups, {len(self.state.mexprs)} multi-expressions, {len(self.state.goals)} goals)"

    def _repr_svg_(self) -> str:
        from memo_viz.svg import inline_svg

        return inline_svg(self.svg())


def _with_values(sql: str, values: Values) -> str:
    return with_values(named_sql(sql), values) if values else sql


def _settings(settings: Settings | dict[str, Any] | None, plugins: Sequence[str | os.PathLike[str]]) -> Settings:
    if isinstance(settings, Settings) and not plugins:
        return settings
    values = settings.as_dict() if isinstance(settings, Settings) else dict(settings or {})
    files = dict.fromkeys((*values.get("plugins", ()), *(str(os.fspath(file)) for file in plugins)))
    return Settings.from_mapping({**values, "plugins": tuple(files)})


def explain(
    sql: str,
    data: str | os.PathLike[str] | Catalog | None = None,
    settings: Settings | dict[str, Any] | None = None,
    analyze: bool = False,
) -> Explanation:
    """The plan of one query: `explain("job/1a")`. `data` may be left out for a built-in query that belongs to one dataset.

    Raises what `Session` and `Session.explain` do.
    """
    data = default_data(sql) if data is None else data
    if data is None:
        raise CatalogError("say what the query is about: a folder of tables, or a built-in dataset such as tpch:0.1")
    return Session(data, settings).explain(sql, analyze)


def open_data(data: str | os.PathLike[str]) -> Catalog:
    """The catalog of a folder, or of a built-in dataset such as `tpch:0.1`. Raises CatalogError."""
    text = os.fspath(data)
    if isinstance(data, Path) or "/" in text or os.sep in text:
        from optimizer.dataset import open_dataset

        return open_dataset(text)
    from experiments.workloads.data import open_data as open_builtin

    return open_builtin(text, None)


def reader(
    query: OptimizedQuery,
    counters: Counters | None = None,
    limits: Limits | None = None,
    progress: Callable[[Watch], None] | None = None,
) -> pa.RecordBatchReader:
    """The result as a stream under the user's column names; it runs as it is read. Raises ExecutionError.

    With `limits` it runs on a thread of its own and can be stopped at any time; `progress` is called while it is waited for.
    Fields that can hold no NULL, as the bound query shows whatever the settings are, say so.
    """
    from executor.arrow.context import Tuning  # planning alone does without the executors
    from executor.arrow.run import execute
    from executor.arrow.watch import Watch

    tuning = Tuning(filters=query.settings.runtime_filters)
    watch = None if limits is None else Watch(limits, progress)
    stream = execute(query.plan, query.columns, query.catalog.tables, counters, tuning, watch)
    positions = [stream.schema.get_field_index(f"c{output.id}") for output in query.outputs]
    not_null = query.bound.tree.props.not_null
    types = [stream.schema.field(p).type for p in positions]
    schema = pa.schema([pa.field(o.name, t, not not_null >> o.id & 1) for o, t in zip(query.outputs, types, strict=True)])
    batches = (pa.record_batch([batch.column(p) for p in positions], schema=schema) for batch in stream)
    return pa.RecordBatchReader.from_batches(schema, batches)


_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def limits(timeout: float | None = None, memory: int | str | None = None) -> Limits:
    """Seconds, and bytes or a text such as "256MB" or "1.5 GiB". Raises SettingsError."""
    from executor.arrow.watch import Limits

    if timeout is not None and not timeout > 0:
        raise SettingsError(f"the timeout has to be a number of seconds above 0, not {timeout}")
    if isinstance(memory, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", memory)
        if found is None or found[2].lower() not in _UNITS:
            raise SettingsError(f'the memory limit cannot be "{memory}": write a size such as 256MB, 1.5GB or 512MiB')
        memory = int(float(found[1]) * _UNITS[found[2].lower()])
    if memory is not None and memory <= 0:
        raise SettingsError(f"the memory limit has to be above 0, not {memory}")
    return Limits(timeout, memory)


def _check_installed(package: str) -> None:
    if find_spec(package) is None:
        raise ExecutionError(f"{package} is not installed: pip install {package}")


def row_counter(catalog: Catalog) -> RowCounter:
    """Counts the rows of trees over the tables of a catalog, and keeps the counts under `PLANSCOPE_HOME`.

    Counting raises ExecutionError where a tree can only be counted by running it, and that would take too long: eager
    aggregation, say, may group the pairs of two tables that only an inequality links. `true` then has the default estimate.
    """
    from executor.arrow.run import execute
    from executor.counting.counter import RowCounter
    from executor.counting.kept import KeptCounts
    from experiments.workloads.cache import cache_folder

    optimizer = Optimizer(catalog)

    def run(tree: Tree, columns: Columns) -> pa.RecordBatchReader:
        plan = optimizer.plan(tree, columns)
        if plan.cost > LONGEST_COUNT:
            raise ExecutionError(f"counting these rows is thought to take {plan.cost / 1e6:,.0f} s")
        return execute(plan, columns, catalog.tables)

    return RowCounter(run, KeptCounts(cache_folder() / "true_cardinalities" / f"{data_version(catalog)}.jsonl"))


def data_version(catalog: Catalog) -> str:
    """32 hex digits that change with the data: the catalog's digest, and when its files were written."""
    stored = [(table.name, file, file.stat()) for table in catalog.tables.values() for file in table.files]
    files = [(table, file.name, found.st_size, found.st_mtime_ns) for table, file, found in stored]
    return hashlib.sha256(repr((catalog.digest, files)).encode()).hexdigest()[:32]


def new_counters() -> Counters:
    """Empty counters for `reader`; `actuals` reads them afterwards."""
    from executor.arrow.counters import Counters

    return Counters()


def actuals(plan: PlanNode, counters: Counters) -> Actuals:
    """What each operator of a plan did in the execution that filled `counters`."""
    found = ((node.id, counters.nodes.get(node.id)) for node in plan.walk())
    return {id: Actual(c.rows, c.ms, c.peak_bytes, c.removed, c.fewer) for id, c in found if c is not None}
