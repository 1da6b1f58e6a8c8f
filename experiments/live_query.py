"""A query whose search runs as far as the stepper looks at it, and again with other settings and row counts."""

from dataclasses import replace
from functools import partial

from executor.session import Session
from experiments.commands.inputs import TO_WATCH, Inputs
from experiments.live_search import LiveSearch
from optimizer.errors import PlanscopeError, SettingsError
from optimizer.pipeline import Optimizer
from optimizer.settings import Settings
from optimizer.sql.bind import bind
from optimizer.stats.injected import Injected
from optimizer.trace.replay import Replay


class LiveQuery:
    """`inputs`: what the user gave; `session` and `sql`: what it stands for."""

    def __init__(self, inputs: Inputs, session: Session, sql: str) -> None:
        self._inputs, self._sql = inputs, sql
        self._catalog = session.catalog
        self._settings = session.settings
        self._rows: dict[frozenset[str], float] = {}
        self._live: LiveSearch | None = None

    @property
    def error(self) -> PlanscopeError | None:
        return None if self._live is None else self._live.error

    @property
    def ended(self) -> bool:
        return self._live is not None and self._live.ended

    def set(self, pair: str) -> None:
        changed = replace(self._inputs, pairs=(*self._inputs.pairs, pair))
        settings = changed.settings(**TO_WATCH)
        self._optimizer(settings, self._rows)  # which says what does not go together
        self._inputs, self._settings = changed, settings

    def rows(self, aliases: frozenset[str], rows: float) -> None:
        columns = bind(self._sql, self._catalog, {}).columns
        known = {column.origin.partition(".")[0].lower() for column in columns if column.origin}
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
        return Optimizer(self._catalog, settings, program=program, estimator=partial(Injected, cardinalities=rows))
