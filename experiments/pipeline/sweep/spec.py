"""What a user asks of a sweep: the table `[sweep]` of a pipeline specification, or the same as a Python object.

docs/pipeline.md has its keys. `plan_sweep` checks all of it, opens the datasets and binds every query, before anything runs.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from experiments.bench.code_version import code_digest
from experiments.bench.inputs import settings_files
from experiments.pipeline.spark.session import Say
from experiments.pipeline.sweep.grid import check_seeds, variants_of
from experiments.pipeline.sweep.plan import How, PlannedQuery, SweepPlan, Variant
from experiments.pipeline.sweep.problems import Problems, suggestion
from experiments.pipeline.sweep.query_names import NamedQuery, find_queries
from experiments.workloads.data import is_built_in, open_data
from experiments.workloads.queries import default_data, workloads
from optimizer.catalog.table import Catalog
from optimizer.errors import CatalogError, PlanscopeError, SettingsError, Unsupported
from optimizer.plugins.load import load_plugins
from optimizer.settings import Settings
from optimizer.sql.bind import bind
from optimizer.toml_places import Places


@dataclass(frozen=True)
class SweepSpec(How):
    """The keys of `[sweep]` (`FIELDS`); `base`: the folder that files are named from, `places`: where everything stands."""

    queries: Sequence[str | Mapping[str, str]]
    data: str | Mapping[str, str] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    variants: Sequence[Mapping[str, Any]] = ()
    plugins: Sequence[str] = ()
    same_code: bool = True
    base: Path = Path()
    places: Places = field(default_factory=Places)


def plan_sweep(
    spec: SweepSpec, progress: Say | None = None, *, code: str | None = None, later: Path | None = None,
    baseline: str | None = None,
) -> SweepPlan:  # fmt: skip
    """The checked plan of a sweep. Opens every dataset (built-in ones are made on first use, told to `progress`).

    `code`: instead of the digest of the code. `later`: datasets in this folder are still to be made, so the plan leaves out
    their queries. `baseline`: the variant that [report] names. Raises SpecError that names every mistake.
    """
    problems = Problems(spec.places)
    variants = checked_variants(spec, problems)
    names = [variant.name for variant in variants]
    if names and baseline is not None and baseline not in names:
        problems.add(f'there is no variant "{baseline}" in the sweep; {suggestion(baseline, names)}', "report", "baseline")
    check_seeds(spec.seeds, spec.seed_settings, variants, problems)
    queries = _Queries(spec, problems, progress, later).planned()
    problems.check()
    how: dict[str, Any] = {one.name: getattr(spec, one.name) for one in fields(How)}
    how |= {"seeds": tuple(spec.seeds), "seed_settings": tuple(spec.seed_settings) if spec.seeds else ()}
    how |= {"execute": spec.execute or spec.analyze, "timeout": float(spec.timeout)}
    code = (code_digest() if code is None else code) + _digest_of(variants) if spec.same_code else ""
    return SweepPlan(queries, variants, code, **how)


def checked_variants(spec: SweepSpec, problems: Problems) -> tuple[Variant, ...]:
    """The variants of a sweep with its plug-ins; mistakes go to `problems`."""
    plugins = [str((spec.base / file).resolve()) for file in spec.plugins]  # tasks run in other folders
    try:
        load_plugins(plugins)
    except SettingsError as error:
        problems.add(str(error), "sweep", "plugins")
        plugins = []
    return variants_of(spec.settings, spec.variants, problems, spec.base, plugins)


def _digest_of(variants: Sequence[Variant]) -> str:
    """Six hex digits over what is in plug-ins and in files that settings name, "" without any."""
    named = (settings_files(Settings.from_mapping(variant.settings)) for variant in variants)
    files = dict.fromkeys(path for each in named for path in each.values())
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()[:6] if files else ""


class _Queries:
    """Looks up the queries of a specification and their data."""

    def __init__(self, spec: SweepSpec, problems: Problems, progress: Say | None, later: Path | None) -> None:
        self._spec, self._problems, self._progress, self._later = spec, problems, progress, later
        self._catalogs: dict[str, Catalog | None] = {}  # None: cannot be opened, and that has been said

    def planned(self) -> tuple[PlannedQuery, ...]:
        made: dict[tuple[str, str], PlannedQuery] = {}
        for entry in self._spec.queries:
            asked: Any = {"query": entry} if isinstance(entry, str) else entry
            fits = isinstance(asked, Mapping) and "query" in asked and all(isinstance(word, str) for word in asked.values())
            if not fits:
                self._problems.add(f'a query is a text or {{query = "…", data = "…"}}, not {entry!r}', "sweep", "queries")
                continue
            self._problems.unknown_keys(asked, ("query", "data", "name"), "sweep")
            text = asked["query"]
            with self._told(text):
                for query in find_queries(text, self._spec.base, asked.get("name")):
                    with self._told(text):
                        if (planned := self._plan(query, asked.get("data"), text)) is None:
                            continue
                        if made.setdefault((planned.name, planned.data), planned).sql != planned.sql:
                            give = f'give one a name: {{query = "{text[:60]}", name = "…"}}'
                            raise PlanscopeError(f'two queries are called "{planned.name}"\n{give}')
        known = ["*", *workloads()]
        for name in self._spec.data if isinstance(self._spec.data, Mapping) else ():
            if name not in known:
                self._problems.add(f'there is no workload "{name}"; {suggestion(name, known)}', "sweep", "data")
        seen: dict[tuple[str, str], PlannedQuery] = {}
        for one in made.values():  # items are told apart by the query's name and what the data are, not where
            if (other := seen.setdefault((one.name, one.digest), one)) is not one:
                same = f"{one.name} is listed for {other.data} and {one.data}, which hold the same data"
                self._problems.add(f"{same}\ngive one a name", "sweep", "queries")
        return tuple(made.values())

    @contextmanager
    def _told(self, text: str) -> Iterator[None]:
        """What is raised is a mistake in the entry `text`."""
        try:
            yield
        except PlanscopeError as error:
            self._problems.add(str(error), "sweep", "queries", text)

    def _plan(self, query: NamedQuery, own: str | None, text: str) -> PlannedQuery | None:
        """None where its data are still to be made, or cannot be opened. Raises PlanscopeError."""
        given = self._spec.data
        if isinstance(given, Mapping):
            given = given.get(query.asked.split("/")[0], given.get("*"))
        if (data := next((each for each in (own, given, default_data(query.asked)) if each is not None), None)) is None:
            raise PlanscopeError(f"no data is given for {query.name}: write data = …")
        if not is_built_in(data):  # a folder beside the specification, by its whole path, since tasks run elsewhere
            data = str((self._spec.base / os.path.expanduser(data)).resolve())
        if self._later is not None and Path(data).is_relative_to(self._later):
            return None
        if (catalog := self._catalog(data, text if own is not None else None)) is None:
            return None
        if (self._spec.execute or self._spec.analyze) and catalog.statistics_only:
            raise PlanscopeError(f"the dataset {data} of {query.name} has statistics only: it can be planned, not executed")
        try:
            bind(query.sql, catalog)
        except Unsupported:
            pass  # it becomes a row that says so
        except PlanscopeError as error:
            raise PlanscopeError(f"{query.name} does not fit the dataset {data}: {error}") from error
        return PlannedQuery(query.name, query.sql, data, catalog.digest)

    def _catalog(self, data: str, entry: str | None) -> Catalog | None:
        if data not in self._catalogs:
            try:
                self._catalogs[data] = open_data(data, self._progress)
            except (CatalogError, OSError) as error:
                self._catalogs[data] = None
                self._problems.add(str(error), "sweep", "data" if entry is None else "queries", entry)
        return self._catalogs[data]
