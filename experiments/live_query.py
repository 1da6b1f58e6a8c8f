"""A query whose search runs as far as the stepper looks at it, and again with other settings and row counts."""

from collections.abc import Set
from dataclasses import replace

from executor.session import Session
from experiments.commands.inputs import TO_WATCH, Inputs
from experiments.live_search import LiveSearch
from experiments.workloads.queries import query_name
from optimizer.algebra.columns import Columns
from optimizer.catalog.table import Catalog
from optimizer.errors import PlanscopeError, SettingsError
from optimizer.explanation.changed import changed_estimator, unheeded
from optimizer.explanation.recost import show_set
from optimizer.pipeline import Optimizer
from optimizer.settings import Settings
from optimizer.sql.bind import bind
from optimizer.stats.estimator import Estimator
from optimizer.stats.injected import Injected, for_query
from optimizer.trace.replay import Replay


class LiveQuery:
    """`inputs`: what the user gave; `session` and `sql`: what it stands for."""

    def __init__(self, inputs: Inputs, session: Session, sql: str) -> None:
        self._inputs, self._sql = inputs, sql
        self._catalog = session.catalog
        self._settings = session.settings
        self._rows: dict[frozenset[str], float] = {}
        self._estimator: Estimator | None = None  # of this run, where rows were given
        self._live: LiveSearch | None = None

    @property
    def error(self) -> PlanscopeError | None:
        return None if self._live is None else self._live.error

    @property
    def ended(self) -> bool:
        return self._live is not None and self._live.ended

    @property
    def relations(self) -> Set[str]:
        """The relations of the query, in lower case."""
        columns = bind(self._sql, self._catalog, {}).columns
        return {column.alias.lower() for column in columns if column.origin}

    @property
    def unasked(self) -> list[str]:
        """The sets of relations whose rows were given and that this run has not asked for."""
        return [] if self._estimator is None else list(map(show_set, unheeded(self._estimator)))

    def set(self, pair: str) -> None:
        changed = replace(self._inputs, pairs=(*self._inputs.pairs, pair))
        settings = for_query(changed.settings(**TO_WATCH), query_name(changed.sql))
        self._optimizer(settings, self._rows)  # which says what does not go together
        self._inputs, self._settings = changed, settings

    def rows(self, aliases: frozenset[str], rows: float) -> None:
        known = self.relations
        if aliases - known:
            unknown, names = min(aliases - known), ", ".join(sorted(known))
            raise SettingsError(f'the query has no relation "{unknown}"; its relations are {names}')
        changed = {**self._rows, aliases: rows}
        self._optimizer(self._settings, changed)
        self._rows = changed

    def again(self) -> Replay:
        self.close()
        optimizer = self._optimizer(self._settings, self._rows)
        self._live = LiveSearch(lambda trace: optimizer.optimize(self._sql, trace))
        return self._live.start()

    def close(self) -> None:
        """Give up the search that runs, if any."""
        if self._live is not None:
            self._live.close()

    def _optimizer(self, settings: Settings, rows: dict[frozenset[str], float]) -> Optimizer:
        program = self._inputs.program(settings)
        if not rows:
            return Session(self._catalog, settings, program).optimizer
        if settings.estimator != "histogram":
            raise SettingsError(f"rows are put over the estimates of estimator=histogram, not of {settings.estimator}")

        def changed(catalog: Catalog, columns: Columns) -> Estimator:
            self._estimator = changed_estimator(Injected(catalog, columns, {}), rows)
            return self._estimator

        return Optimizer(self._catalog, settings, program=program, estimator=changed)
