"""The columns of sweep results: one row for each item, whatever became of it.

`COLUMNS` describes them (docs/pipeline.md lists the same); a column `set_NAME` for each setting stands between. Figures of
planning and of execution are NULL where the item failed before it had them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from optimizer.settings import describe_settings


class Column(NamedTuple):
    """`varies`: two runs of the same item may differ here."""

    name: str
    type: pa.DataType
    doc: str
    varies: bool = False


_TEXT, _INT, _REAL, _FLAG = pa.string(), pa.int64(), pa.float64(), pa.bool_()
_REALS, _COUNTS = pa.list_(pa.float64()), pa.map_(pa.string(), pa.int64())

_IDENTITY = (
    Column("item", _TEXT, "id of the item: a digest of the query's text, the data, all settings and the seed"),
    Column("number", _INT, "its number in the plan of the sweep, from 0"),
    Column("query", _TEXT, "name of the query"),
    Column("workload", _TEXT, "what stands before the / of its name: tpch, chain; else the name"),
    Column("data", _TEXT, "dataset, as given"),
    Column("data_digest", _TEXT, "digest of the dataset's tables, statistics and files"),
    Column("variant", _TEXT, "name of the choice of settings"),
    Column("seed", _INT, "the seed; NULL where the sweep has none"),
)
_OUTCOME = (
    Column("status", _TEXT, "ok or error"),
    Column(
        "error_kind", _TEXT, "sql, unsupported, catalog, settings, no_plan, execution, data, timeout, memory, crash, internal"
    ),
    Column("error", _TEXT, "the message", True),
    Column("attempts", _INT, "2 where a process that had run other items failed, and a fresh one tried again", True),
)
_PLAN = (
    Column("cost", _REAL, "estimated cost of the chosen plan, in the unit of the cost model"),
    Column("rows", _REAL, "estimated rows of the result"),
    Column("relations", _INT, "base tables the plan reads, one that is read twice counted twice"),
    Column("joins", _INT, "joins and applies of the plan"),
    Column("join_order", _TEXT, "by alias, left input first: ((a b) c)"),
    Column("shape", _TEXT, "none, single, left_deep, right_deep, zigzag or bushy"),
    Column("depth", _INT, "operators on the longest way from the root"),
    Column("operators", _COUNTS, "operators of the plan by name"),
)
_SEARCH = (
    Column("groups", _INT, "groups of the memo"),
    Column("mexprs_logical", _INT, "logical multi-expressions"),
    Column("mexprs_physical", _INT, "physical multi-expressions"),
    Column("duplicates", _INT, "expressions found again"),
    Column("merges", _INT, "groups shown to be equal"),
    Column("tasks", _INT, "tasks performed"),
    Column("firings", _INT, "rule firings in the memo"),
    Column("rules_fired", _COUNTS, "firings by rule"),
    Column("goals", _INT, "goals: groups with required traits"),
    Column("goals_opened", _INT, "goals that were searched"),
    Column("costed", _INT, "physical alternatives whose local cost was computed"),
    Column("pruned", _COUNTS, "skips by mechanism"),
    Column("pruned_total", _INT, "skips by all mechanisms but `dominated`"),
    Column("joins_enumerated", _INT, "unordered pairs of relation sets for which a join was made"),
    Column("proven", _FLAG, "whether the plan is proven to be the cheapest of its space"),
    Column("lower_bound", _REAL, "no plan costs less"),
    Column("gap", _REAL, "how far above the optimum the plan may be, as a fraction; NULL: unknown"),
    Column("heuristic", _TEXT, "why a region was not searched exactly; empty: it was"),
    Column("prepass_converged", _FLAG, "whether the pre-pass reached its fixpoint"),
)
_TIMES = (
    Column("plan_ms", _REAL, "milliseconds from text to plan: the median of the repeats", True),
    Column("plan_ms_runs", _REALS, "the same for each repeat", True),
    Column("ms_parse", _REAL, "of these, parsing", True),
    Column("ms_bind", _REAL, "binding", True),
    Column("ms_decorrelate", _REAL, "removing subqueries and decorrelation", True),
    Column("ms_prepass", _REAL, "the pre-pass", True),
    Column("ms_search", _REAL, "the search", True),
)
_EXECUTION = (
    Column("elapsed_ms", _REAL, "milliseconds of running the plan: the median of the repeats", True),
    Column("elapsed_ms_runs", _REALS, "the same for each repeat", True),
    Column("rows_returned", _INT, "rows of the result"),
    Column("q_error", _REAL, "of the estimate of the result's rows"),
    Column("q_error_median", _REAL, "over the operators of the plan (analyze)"),
    Column("q_error_max", _REAL, "over the operators of the plan (analyze)"),
)
_PROVENANCE = (
    Column("rss_mb", _INT, "most memory the process was seen to occupy meanwhile; NULL where the system does not say", True),
    Column("host", _TEXT, "machine", True),
    Column("started", pa.timestamp("us", "UTC"), "when the item was begun", True),
    Column("planscope", _TEXT, "version of planscope", True),
    Column("code", _TEXT, "digest of the source files of optimizer, executor and workloads", True),
    Column("python", _TEXT, "version of Python", True),
    Column("pyarrow", _TEXT, "version of pyarrow", True),
)
_SETTING_TYPES: dict[type, pa.DataType] = {bool: _FLAG, int: _INT, float: _REAL, str: _TEXT, tuple: _TEXT}
_SETTINGS = tuple(
    Column(f"set_{doc.name}", _SETTING_TYPES[type(doc.default)], f"setting {doc.name}") for doc in describe_settings()
)

SAME_UNIT = ("cost_model", "coefficients", "spark_nodes", "estimator", "injected", "q_error")  # settings that costs depend on

COLUMNS = (*_IDENTITY, *_SETTINGS, *_OUTCOME, *_PLAN, *_SEARCH, *_TIMES, *_EXECUTION, *_PROVENANCE)
SCHEMA = pa.schema([(column.name, column.type) for column in COLUMNS])
SETTLED = tuple(column.name for column in COLUMNS if not column.varies)


def setting_columns(settings: Mapping[str, Any]) -> dict[str, Any]:
    """All settings, as the columns that show them; names of rules joined by commas."""
    return {f"set_{name}": ",".join(value) if isinstance(value, (list, tuple)) else value for name, value in settings.items()}
