"""What is built in: datasets, queries and true cardinalities.

from planscope import workloads
[query.name for query in workloads.queries()]        tpch/q01, …
workloads.resolve_sql("job/1a")                      its text
workloads.true_cardinalities("stats")["stats/001"]   sets of aliases, and the rows of their joins
"""

from planscope.packages import check_packages

check_packages()

from experiments.workloads.data import BUILT_IN as datasets  # noqa: E402
from experiments.workloads.data import open_data  # noqa: E402
from experiments.workloads.join_graphs import FAMILIES as join_graphs  # noqa: E402
from experiments.workloads.queries import BuiltInQuery, resolve_sql  # noqa: E402
from experiments.workloads.queries import built_in_queries as queries  # noqa: E402
from experiments.workloads.true_cardinalities import true_cardinalities  # noqa: E402

__all__ = ["BuiltInQuery", "datasets", "join_graphs", "open_data", "queries", "resolve_sql", "true_cardinalities"]
