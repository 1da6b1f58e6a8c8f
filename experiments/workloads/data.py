"""Datasets by folder or by name: the DATA argument of every command."""

import contextlib
import hashlib
import os
import re
import shlex
from collections.abc import Callable
from functools import cache
from pathlib import Path

from experiments.workloads.cache import Progress, cache_folder
from experiments.workloads.generated_data import EXAMPLES, generated_folder, generated_name
from experiments.workloads.job_data import job_catalog
from experiments.workloads.joingraph_data import JoinGraphCatalog
from experiments.workloads.stats_data import stats_catalog, stats_folder
from optimizer.catalog.folder import METADATA_FOLDER
from optimizer.catalog.statistics import stored_statistics
from optimizer.catalog.table import Catalog, Table
from optimizer.dataset import open_dataset
from optimizer.errors import CatalogError, nearest

BUILT_IN = {
    "tpch:SF": "TPC-H at scale factor SF (tpch:0.1 has 0.87 million rows), made and analyzed on first use",
    "tpcds:SF": "TPC-DS at scale factor SF (tpcds:0.1 has 1.2 million rows), made and analyzed on first use",
    "imdb_like:S": "synthetic rows for the schema of the Join Order Benchmark, S times as many as IMDB has",
    "job": "IMDB as the Join Order Benchmark uses it (74 million rows): statistics only, to plan job/1a and the like",
    "stats": "a Stack Exchange site, for stats/001 and the like: 552,350 rows in six tables, statistics only for two",
    "joingraph": "tables for chain/N, star/N, clique/N and other join graphs: statistics only",
}
_STATISTICS_ONLY: dict[str, Callable[[], Catalog]] = {"job": job_catalog, "joingraph": JoinGraphCatalog}


class _NoData(Catalog):
    """For queries that read no table. Any table is a CatalogError that asks for data."""

    __slots__ = ()

    def table(self, name: str) -> Table | None:
        raise CatalogError(
            f'there is no data for table "{name}"\n'
            "say what the query is about with -d (in Python data=): a folder of tables, or a built-in dataset such as tpch:0.1"
        )


def open_data(spec: str | os.PathLike[str] | None, progress: Progress | None = None) -> Catalog:
    """The catalog of dataset `spec`: a folder, or a built-in name such as `tpch:0.1` (a folder `job` is `./job`);
    None has no tables.

    `progress` gets a line of text now and then while data is being made. Raises CatalogError; making data
    raises PipelineError and OutputError too.
    """
    if spec is None:
        return _NoData("no data", ())
    spec = os.fspath(spec)
    tell_beside(spec, progress)
    if spec in _STATISTICS_ONLY:
        return _STATISTICS_ONLY[spec]()
    if spec == "stats":
        return stats_catalog(progress or _silent)
    name, _, argument = spec.partition(":")
    folder, generated = dataset_folder(spec, progress), name in EXAMPLES
    catalog = open_dataset(folder, name=generated_name(name, argument) if generated else None)
    if progress is not None:
        if not generated:
            _tell_once(folder, catalog, progress)
        _tell_stale(folder, catalog, progress)
    return catalog


@cache
def opened(spec: str) -> Catalog:
    """`open_data`, once in a process."""
    return open_data(spec)


def tell_beside(spec: str, progress: Progress | None) -> None:
    """Says of a built-in dataset that a folder here has its name."""
    if progress is not None and is_built_in(spec) and Path(spec).is_dir():
        progress(f'"{spec}" is the built-in dataset; the folder of that name is ./{spec}')


def _tell_stale(folder: Path, catalog: Catalog, progress: Progress) -> None:
    """Says of which tables the files are no longer those that were analyzed, as after a copy: their statistics are not used."""
    stored = stored_statistics(folder)
    stale = [name for name, table in catalog.tables.items() if stored and name in stored.tables and not table.stats.analyzed]
    if stale:
        progress(
            f"statistics are not used, since files have changed or were copied after the analysis: {', '.join(stale)}\n"
            f"planscope data analyze {shlex.quote(str(folder))} makes them anew"
        )


def _tell_once(folder: Path, catalog: Catalog, progress: Progress) -> None:
    """Says of a dataset whose keys nobody has verified that they are believed; remembers it in the cache folder."""
    declared = any(table.files and (table.keys or table.foreign_keys) for table in catalog.tables.values())
    verified = ("constraints.json", "manifests/import.json", "manifests/generate.json")
    if not declared or any((folder / METADATA_FOLDER / name).exists() for name in verified):
        return
    told = cache_folder() / "told" / hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:20]
    if not told.exists():
        progress(
            f"the keys in {folder / 'schema.sql'} are believed as declared: results are wrong if the data contradicts them\n"
            f"planscope data analyze {shlex.quote(str(folder))} verifies them"
        )
        with contextlib.suppress(OSError):
            told.parent.mkdir(parents=True, exist_ok=True)
            told.touch()


def is_built_in(data: str) -> bool:
    """Whether `data` names a built-in dataset (tpch:0.1, job), not a folder (./job)."""
    return data.partition(":")[0] in {name.partition(":")[0] for name in BUILT_IN}


def dataset_folder(spec: str, progress: Progress | None = None) -> Path:
    """The folder with the files of dataset `spec`, made if need be; a folder is taken as it is.

    Raises CatalogError, also for a dataset that has statistics only.
    """
    if spec in _STATISTICS_ONLY:
        raise CatalogError(
            f'the dataset "{spec}" has statistics only, no files and so no folder\n'
            f"planscope data show {spec} shows its tables; a folder of that name is ./{spec}"
        )
    if spec == "stats":
        return stats_folder(progress or _silent)
    name, _, argument = spec.partition(":")
    if name in EXAMPLES:
        return generated_folder(name, argument, progress or _silent)
    folder = Path(os.path.expanduser(spec))
    if not spec or (re.fullmatch(r"(\w{2,}:|(?i:tpch|tpcds|imdb))[^/\\]*", spec) and not folder.exists()):
        word, argument = re.split(r":|(?<=[a-z])(?=\d)|$", spec, maxsplit=1)
        near = nearest(word, (each.partition(":")[0] for each in BUILT_IN if argument and ":" in each))
        meant = f'\ndid you mean "{near}:{argument}"?' if near else ""
        raise CatalogError(f'there is no dataset "{spec}"; built in: {", ".join(BUILT_IN)}; or name a folder with tables{meant}')
    return folder


def _silent(line: str) -> None:
    """Progress for callers that do not want any."""
