"""True row counts of the sub-plans of a workload's queries, as published: `true_cardinalities.parquet` beside the queries."""

from functools import cache
from pathlib import Path

import pyarrow.parquet as pq

from optimizer.errors import SqlError

WORKLOADS = ("stats", "job_m", "job_light")  # those whose sub-plans have been counted
_HERE = Path(__file__).parent

Aliases = frozenset[str]


@cache
def true_cardinalities(workload: str) -> dict[str, dict[Aliases, int]]:
    """By query name (`stats/001`): sets of relations, by alias, and the rows of their join under all predicates among them.

    Queries in the order of the workload, sets by size. Single relations are missing where they were not counted (job_m).
    Raises SqlError for another workload.
    """
    if workload not in WORKLOADS:
        raise SqlError(f'no true cardinalities are known for "{workload}"', hint=f"workloads with them: {', '.join(WORKLOADS)}")
    found: dict[str, dict[Aliases, int]] = {}
    table = pq.read_table(_HERE / workload / "true_cardinalities.parquet", columns=["query", "aliases", "cardinality"])
    for query, aliases, rows in zip(*(column.to_pylist() for column in table.columns), strict=True):
        found.setdefault(f"{workload}/{query}", {})[frozenset(aliases)] = rows
    return found
