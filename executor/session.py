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

import os
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from copy import copy
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from executor.execution import ARROW, Engine, actuals, limits, new_counters, reader
from executor.explanation import Explanation, Result
from experiments.workloads.queries import default_data, named_sql, query_name
from memo_viz.explain import Actuals
from optimizer.catalog.table import Catalog
from optimizer.errors import CatalogError, SettingsError
from optimizer.pipeline import OptimizedQuery, Optimizer, in_short
from optimizer.plugins.load import chosen_estimator, load_plugins
from optimizer.prepass.instructions import Program
from optimizer.prepass.program import PROGRAM
from optimizer.presets import preset_file
from optimizer.settings import Settings, read_settings
from optimizer.sql.parameters import with_values
from optimizer.stats.injected import for_query
from optimizer.trace.recorder import Trace

if TYPE_CHECKING:
    from executor.counting.counter import RowCounter
    from executor.what_if import WhatIf
    from optimizer.explanation.why import Why

MOST_PLANS = 100  # that a prepared query keeps

Values: TypeAlias = Sequence[Any] | Mapping[str, Any]


class Session:
    """A dataset and settings, ready for queries.

    `data`: a folder of tables, a built-in name such as `tpch:0.1` (made on first use), a Catalog, or tables by name as `register`
    takes them. `settings`: a Settings object or a mapping of setting names to values. `preset`: a set of settings to begin with,
    such as "textbook"; those in the mapping win. `program`: what the pre-pass does. `plugins`: files of rules and the like, on
    top of those of the setting. `timeout`: seconds that a query may run once it is planned; `memory_limit`: what its operators
    may hold together, bytes or a text such as "256MB". A query over a limit raises ExecutionError, which names the operator, and
    the session goes on. `engine`: what runs queries, this process or a `SparkEngine`. Raises CatalogError, SettingsError.
    """

    def __init__(
        self, data: str | os.PathLike[str] | Catalog | Mapping[str, Any], settings: Settings | dict[str, Any] | None = None,
        program: Program | None = None, plugins: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
        timeout: float | None = None, memory_limit: int | str | None = None, preset: str | None = None, engine: Engine = ARROW,
    ) -> None:  # fmt: skip
        if isinstance(engine, type) or not all(hasattr(engine, name) for name in ("cost_model", "shown", "execute")):
            raise SettingsError(f"engine is an object, SparkEngine() for example, not {engine!r:.60}")
        self.limits, self.engine = limits(timeout, memory_limit), engine
        self.settings = _settings(settings, plugins, preset, cost_model=engine.cost_model)
        self.program = PROGRAM if program is None else program
        self._register = Lock()
        self._made_of: Any = data if isinstance(data, str | os.PathLike) else None
        if self._made_of is not None and _is_folder(self._made_of):
            self._made_of = Path(self._made_of).absolute()  # for a process that works in another folder
        if isinstance(data, Mapping):
            self.catalog = Catalog("session", ())
        else:
            self.catalog = data if isinstance(data, Catalog) else open_data(data)
        self.optimizer = self._optimizer(self.settings)
        for name, table in data.items() if isinstance(data, Mapping) else ():
            if isinstance(name, str) and self.catalog.table(name) is not None:
                raise CatalogError(f'there are two tables "{name}": in SQL, upper and lower case are the same in a name')
            self.register(name, table)

    def register(self, name: str, data: Any) -> None:
        """A copy of `data` as the table `name`, instead of one that has this name. Raises CatalogError.

        An Arrow table, a pandas or Polars DataFrame, anything with the Arrow C stream interface, or a mapping from column names
        to lists or NumPy arrays.
        """
        from executor.registered import with_tables, written

        table = written(name, data)
        with self._register:
            self._made_of = None
            self.catalog = with_tables(self.catalog, [table])
            self.optimizer = self._optimizer(self.settings)

    def optimize(self, sql: str, trace: Trace | None = None, values: Values = ()) -> OptimizedQuery:
        """Plan `sql`, with every intermediate tree. Raises SqlError, Unsupported, NoPlan.

        Here and below `sql` is text, or the name of a built-in query such as `tpch/q05`; `values` are those of its parameters, a
        sequence for ?, a mapping for $name.
        """
        text = named_sql(_with_values(sql, values))
        settings = for_query(self.settings, query_name(sql))
        optimizer = self.optimizer if settings is self.settings else self._optimizer(settings)
        return optimizer.optimize(text, trace)

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
        from executor.counting.of_catalog import row_counter  # planning alone does without the executors

        return row_counter(self.catalog)

    def explain(self, sql: str, analyze: bool = False, values: Values = ()) -> Explanation:
        """Plan `sql` without running it; with `analyze`, run it too and count rows and time of each operator."""
        _check_analyze(analyze)
        if analyze:
            self.check_rows()
        now = copy(self)  # with the tables that it has now, whatever is registered later
        query = now.optimize(sql, None, values)
        return Explanation(now, query, self._measure(query) if analyze else None)

    def sql(self, sql: str, analyze: bool = False, values: Values = ()) -> Result:
        """Plan and run `sql`. `analyze`: also count rows and time of each operator. Raises also ExecutionError."""
        _check_analyze(analyze)
        now = copy(self)
        return now._result(now.optimize(sql, None, values), analyze)

    def prepare(self, sql: str) -> Prepared:
        """`sql` with parameters, to be run often. Raises SqlError for a built-in query that there is not."""
        return Prepared(self, named_sql(sql))

    def _result(self, query: OptimizedQuery, analyze: bool = False) -> Result:
        self.check_rows()
        counters = new_counters() if analyze else None
        table = reader(query, counters, self.limits, engine=self.engine).read_all()
        return Result(table, Explanation(self, query, None if counters is None else actuals(counters)))

    def what_if(self, sql: str, values: Values = ()) -> WhatIf:
        """The plans of `sql` under other row counts and costs; its memo is explored once, here."""
        from executor.what_if import WhatIf

        settings = self.settings.replace(driver="top_down", exploration="all")
        return WhatIf(Session(self.catalog, settings, self.program).optimize(sql, None, values))

    def why(self, sql: str, changes: bool = True, values: Values = (), **asked: Any) -> Why:
        """Something that answers questions about `sql`: `session.why(sql).join_order("((c o) l)")`, or rule, operator, mexpr or
        plan. The query is planned for each, so that every step can be looked at. `changes`: look for a row count that would turn
        the plan, which takes the longest. Raises SettingsError for a question that is `asked` here."""
        for name, value in asked.items():
            raise SettingsError(f"why takes sql and changes, not {name}: write session.why(sql).{name}({value!r:.60})")
        from optimizer.decorrelate.quick import QUICK
        from optimizer.decorrelate.rules.apply_to_join import ApplyToJoin
        from optimizer.explanation.why import Why
        from optimizer.prepass.instructions import rules_of

        sql = _with_values(sql, values)
        region = "tasks" if self.settings.region == "auto" else self.settings.region

        def again(order: str) -> OptimizedQuery:
            return Session(self.catalog, self.settings.replace(region=region, join_order=order), self.program).optimize(sql)

        session = Session(self.catalog, self.settings.replace(region=region), self.program)
        off, method = "" if self.settings.prepass else "the pre-pass, which is off (prepass)", self.settings.decorrelate
        rewrites = {rule.name: off for rule in session.optimizer.rewrites}
        for rule in rules_of(QUICK):
            runs = method == "quick" or (method == "none" and isinstance(rule, ApplyToJoin))
            rewrites[rule.name] = "" if runs else f"decorrelate=quick, and decorrelate is {method}"
        return Why(lambda trace: session.optimize(sql, trace), again, changes, rewrites)

    def batches(self, sql: str, values: Values = ()) -> pa.RecordBatchReader:
        """The rows of `sql` as a stream: it runs as it is read, and stops when it is dropped. Reading raises ExecutionError."""
        self.check_rows()
        return reader(self.optimize(sql, None, values), None, self.limits, engine=self.engine)

    def check_rows(self) -> None:
        """Raises CatalogError when the dataset has statistics only, so that nothing can be run on it."""
        if self.catalog.statistics_only:
            raise CatalogError(
                f"the dataset {self.catalog.name} has statistics only: its queries can be planned, not run\n"
                f"planscope explain shows the plan, without --analyze; planscope memo and planscope trace the search"
            )

    def _measure(self, query: OptimizedQuery) -> Actuals:
        counters = new_counters()
        for _ in reader(query, counters, self.limits, engine=self.engine):
            pass
        return actuals(counters)

    def __copy__(self) -> Session:
        found = object.__new__(Session)
        found.__dict__.update(self.__dict__)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """By dataset and settings, with which a process that unpickles it makes it anew."""
        if not self._made_of or self.program is not PROGRAM or self.engine is not ARROW:
            of = "a program or an engine" if self._made_of else "tables"
            raise TypeError(f"a Session with {of} of this process cannot be pickled: make one in each process")
        made = partial(Session, timeout=self.limits.seconds, memory_limit=self.limits.bytes)
        return made, (self._made_of, self.settings)

    def __repr__(self) -> str:
        return f"Session({self.catalog!r})"


class Prepared:
    """A query with parameters: planned for the values that it is run with, once for the same values."""

    def __init__(self, session: Session, sql: str) -> None:
        self._session, self.text = session, sql
        self._plans: dict[tuple[str, str], OptimizedQuery] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Prepared, (self._session, self.text)

    def __repr__(self) -> str:
        return f"Prepared({in_short(self.text)!r})"

    def sql(self, values: Values = ()) -> Result:
        """Raises as `Session.sql` does."""
        session = copy(self._session)
        key = session.catalog.digest, _with_values(self.text, values)
        if key not in self._plans:
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            self._plans[key] = session.optimize(key[1])
        return session._result(self._plans[key])

    def explain(self, values: Values = (), analyze: bool = False) -> Explanation:
        """Raises as `Session.explain` does."""
        return self._session.explain(self.text, analyze, values)


def _check_analyze(analyze: object) -> None:
    if not isinstance(analyze, bool):
        raise SettingsError(f"analyze is True or False, not {analyze!r:.60}: a Session has the settings, values=... parameters")


def _with_values(sql: str, values: Values) -> str:
    ordered = isinstance(values, Iterable) and not isinstance(values, Mapping | Set | str | bytes)
    given = list(values) if ordered else values
    return with_values(named_sql(sql), given) if given else sql


def _settings(
    settings: Settings | dict[str, Any] | None, plugins: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    preset: str | None, **defaults: Any,
) -> Settings:  # fmt: skip
    plugins = (plugins,) if isinstance(plugins, str | os.PathLike) else plugins
    if not isinstance(plugins, Collection) or not all(isinstance(file, str | os.PathLike) for file in plugins):
        raise SettingsError(f"plugins are files, not {plugins!r:.60}")
    if isinstance(settings, Settings) and preset is not None:
        raise SettingsError("a Settings object has a value for all settings of the preset: give those of your own as a mapping")
    if isinstance(settings, Settings) and not plugins:
        return settings
    if isinstance(settings, Settings):
        values = settings.as_dict()
    elif settings is not None and not isinstance(settings, Mapping):
        raise SettingsError(f"settings are a Settings object or a mapping from names to values, not {settings!r:.60}")
    else:
        values = {**defaults, **({} if preset is None else read_settings(preset_file(preset))), **(settings or {})}
    files = dict.fromkeys((*values.get("plugins", ()), *(str(os.fspath(file)) for file in plugins)))
    found = Settings.from_mapping({**values, "plugins": tuple(files)})
    if not isinstance(settings, Settings):
        found.check_injected()
    return found


def explain(
    sql: str, data: str | os.PathLike[str] | Catalog | None = None, settings: Settings | dict[str, Any] | None = None,
    analyze: bool = False,
) -> Explanation:  # fmt: skip
    """The plan of one query: `explain("job/1a")`. `data` may be left out for a built-in query that belongs to one dataset.

    Raises what `Session` and `Session.explain` do.
    """
    if data is None:
        from experiments.workloads.data import open_data as open_builtin

        data = open_builtin(default_data(sql))
    return Session(data, settings).explain(sql, analyze)


def open_data(data: str | os.PathLike[str]) -> Catalog:
    """The catalog of a folder, or of a built-in dataset such as `tpch:0.1`. Raises CatalogError."""
    if not isinstance(data, str | os.PathLike):
        raise CatalogError(f"data is a folder, the name of a dataset, a Catalog or tables by name, not {data!r:.60}")
    if _is_folder(data):
        from optimizer.dataset import open_dataset

        return open_dataset(os.fspath(data))
    from experiments.workloads.data import open_data as open_builtin

    return open_builtin(os.fspath(data), None)


def _is_folder(data: str | os.PathLike[str]) -> bool:
    """Whether the name of a folder is meant, and not of a built-in dataset."""
    text = os.fspath(data)
    return isinstance(data, Path) or "/" in text or os.sep in text
