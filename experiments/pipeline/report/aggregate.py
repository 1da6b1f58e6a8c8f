"""The aggregates of a sweep, in Spark SQL over its result files.

A ratio compares an item with the one of the baseline variant that has the same query, data and seed; NULL where either
failed. Costs are compared only where cost model and estimator agree: costs of others are other units.
"""

from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from experiments.bench.store import ROWS
from experiments.pipeline.spark.errors import translated
from experiments.pipeline.spark.paths import reader, to_read
from experiments.pipeline.sweep.columns import SAME_UNIT

_RATIOS = ("plan_ms", "costed", "tasks", "cost", "elapsed_ms")


def aggregate(spark: SparkSession, folder: Path, baseline: str) -> dict[str, pa.Table]:
    """The tables of a report, as docs/pipeline.md has them, for the run in `folder`: a row for each variant; for each query, data
    and variant; for each workload, number of base tables and variant (figures are medians); for each variant and kind of error.
    Rows follow the order of the sweep's plan. Raises PipelineError."""
    with translated("summing up the sweep"):
        reader(spark).parquet(to_read((folder / ROWS).absolute())).createOrReplaceTempView("sweep_items")
        spark.sql(_PAIRED, args={"baseline": baseline}).createOrReplaceTempView("sweep_paired")
        by_query = spark.sql(_BY_QUERY).toArrow()
        spark.createDataFrame(by_query).createOrReplaceTempView("sweep_by_query")  # so that it is not worked out again
        spark.sql(_COMPARED).createOrReplaceTempView("sweep_compared")
        queries = {"by_variant": _BY_VARIANT, "by_query": _ORDERED, "by_relations": _BY_RELATIONS, "errors": _ERRORS}
        return {name: spark.sql(query).toArrow() for name, query in queries.items()}


def _ratio(column: str) -> str:
    same = " AND ".join(f"i.set_{name} <=> b.set_{name}" for name in SAME_UNIT) if column == "cost" else "true"
    return f"CASE WHEN {same} AND b.{column} > 0 THEN i.{column} / b.{column} END AS {column}_ratio"


def _geometric_mean(column: str) -> str:
    return f"exp(avg(CASE WHEN {column} > 0 THEN ln({column}) END))"


_PAIRED = f"""
SELECT i.*, {", ".join(map(_ratio, _RATIOS))}
FROM sweep_items i LEFT JOIN sweep_items b
  ON b.variant = :baseline AND b.query = i.query AND b.data = i.data AND b.data_digest = i.data_digest AND b.seed <=> i.seed
"""

_BY_QUERY = f"""
SELECT min(number) AS first, workload, query, data, variant, count(*) AS items, count_if(status = 'error') AS errors,
  median(relations) AS relations, median(plan_ms) AS plan_ms, median(ms_search) AS ms_search, median(costed) AS costed,
  median(tasks) AS tasks, median(joins_enumerated) AS joins_enumerated, median(pruned_total) AS pruned,
  bool_and(proven) AS proven, median(cost) AS cost, min(cost) AS cost_min, max(cost) AS cost_max,
  count(DISTINCT join_order) AS join_orders, median(elapsed_ms) AS elapsed_ms, max(rows_returned) AS rows_returned,
  median(q_error) AS q_error, median(q_error_max) AS q_error_max,
  {", ".join(f"median({name}_ratio) AS {name}_ratio" for name in _RATIOS)}
FROM sweep_paired GROUP BY workload, query, data, variant
"""

_ORDERED = "SELECT * EXCEPT (first) FROM sweep_by_query ORDER BY first"

_COMPARED = """
SELECT query, data, bool_and(errors = 0) AS compared FROM sweep_by_query
WHERE variant IN (SELECT variant FROM sweep_by_query GROUP BY variant HAVING sum(errors) < sum(items)) GROUP BY query, data
"""

_BY_VARIANT = f"""
SELECT variant, count(*) AS queries, sum(items) AS items, sum(errors) AS errors, count_if(proven) AS proven,
  count_if(compared AND errors = 0) AS compared,
  sum(plan_ms) FILTER (WHERE compared) AS plan_ms_sum, median(plan_ms) FILTER (WHERE compared) AS plan_ms_median,
  percentile(plan_ms, 0.9) FILTER (WHERE compared) AS plan_ms_p90, max(plan_ms) FILTER (WHERE compared) AS plan_ms_max,
  sum(costed) FILTER (WHERE compared) AS costed_sum, sum(elapsed_ms) FILTER (WHERE compared) AS elapsed_ms_sum,
  {", ".join(f"{_geometric_mean(name + '_ratio')} AS {name}_ratio" for name in _RATIOS)},
  max(cost_ratio) AS cost_ratio_max, {_geometric_mean("q_error")} AS q_error, max(q_error) AS q_error_max
FROM sweep_by_query LEFT JOIN sweep_compared USING (query, data) GROUP BY variant ORDER BY min(first)
"""

_BY_RELATIONS = f"""
SELECT workload, CAST(relations AS BIGINT) AS relations, variant, count(*) AS queries, median(plan_ms) AS plan_ms,
  median(costed) AS costed, median(joins_enumerated) AS joins_enumerated, median(elapsed_ms) AS elapsed_ms,
  {", ".join(f"{_geometric_mean(name + '_ratio')} AS {name}_ratio" for name in _RATIOS)}
FROM sweep_by_query WHERE relations IS NOT NULL
GROUP BY workload, CAST(relations AS BIGINT), variant ORDER BY workload, relations, min(first)
"""

_ERRORS = """
SELECT variant, error_kind AS kind, count(*) AS items, count(DISTINCT query) AS queries, min_by(query, number) AS example,
  min_by(error, number) AS message
FROM sweep_items WHERE status = 'error' GROUP BY variant, error_kind ORDER BY variant, kind
"""
