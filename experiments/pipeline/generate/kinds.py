"""The kinds of datasets that can be generated, by name."""

from collections.abc import Sequence
from decimal import Decimal

from experiments.pipeline.generate.recipe import Recipe, parts_of
from optimizer.errors import CatalogError

KINDS = {
    "tpch": "TPC-H",
    "tpcds": "TPC-DS, from scale 0.01 on",
    "joingraph": "rows for the tables of join graphs",
    "imdb_like": "synthetic rows for the schema of the Join Order Benchmark",
}
_GRAPHS = ("chain/4", "star/4", "cycle/4", "clique/4")  # where nobody names any
_VALUE_BYTES = 4.0  # of a 64-bit integer in a file, about
_MOST_SCALE = 100


def recipe(kind: str, scale: Decimal, parts: int | None = None, graphs: Sequence[str] = ()) -> Recipe:
    """How to make a dataset. Raises CatalogError for what the kind does not have, SqlError for a name of no join graph."""
    if graphs and kind != "joingraph":
        raise CatalogError(f"--graph names join graphs, which {kind} does not have; use it with joingraph")
    match kind:
        case "tpch":
            from experiments.pipeline.generate.tpch import tpch

            return tpch(scale, parts)
        case "tpcds":
            from experiments.pipeline.generate.tpcds import tpcds

            return tpcds(scale, parts)
        case "joingraph":
            return _joingraph(scale, graphs or _GRAPHS, parts)
        case "imdb_like":
            if parts is not None:
                raise CatalogError("imdb_like chooses its files by size: leave --parts out")
            return _imdb_like(scale)
    raise CatalogError(f'there is no kind of dataset "{kind}"; there are {", ".join(KINDS)}')


def _joingraph(scale: Decimal, graphs: Sequence[str], parts: int | None) -> Recipe:
    """The tables of `graphs`, rows and distinct counts times `scale`."""
    from experiments.workloads.join_graphs import join_graph
    from experiments.workloads.joingraph_data import graph_tables
    from experiments.workloads.joingraph_rows import declaration

    if scale > _MOST_SCALE:
        raise CatalogError(f"joingraph is made up to scale {_MOST_SCALE}, a billion rows of its largest table; not at {scale}")
    named = {graph.name: graph for graph in map(join_graph, graphs)}
    tables = [table for name in sorted(named) for table in graph_tables(named[name], float(scale))]
    sizes = {table.name: (table.stats.rows, table.stats.rows * len(table.columns) * _VALUE_BYTES) for table in tables}
    return Recipe(
        kind="joingraph", scale=f"{scale.normalize():f}", module="experiments.workloads.joingraph_rows",
        parts=[part for name, (rows, size) in sizes.items() for part in parts_of(name, rows, size, parts)],
        schema=lambda *_: "\n\n".join(map(declaration, tables)) + "\n",
        settings={"graphs": sorted(named)} | ({} if parts is None else {"parts": parts}),
    )  # fmt: skip


def _imdb_like(scale: Decimal) -> Recipe:
    from experiments.workloads.imdb_like.figures import MOST_SCALE
    from experiments.workloads.imdb_like.tables import row_bytes, schema_sql
    from experiments.workloads.imdb_like.witnesses import table_rows

    if not 0 < scale <= MOST_SCALE:
        raise CatalogError(f"imdb_like is made up to scale {MOST_SCALE}, 1.8 billion rows of cast_info; not at {scale:g}")
    counts = table_rows(float(scale))
    return Recipe(
        kind="imdb_like", scale=f"{scale.normalize():f}", module="experiments.workloads.imdb_like.tables",
        parts=[part for name, rows in counts.items() for part in parts_of(name, rows, rows * row_bytes(name), None)],
        schema=lambda *_: schema_sql(), orders=dict.fromkeys(counts, ("id",)),
    )  # fmt: skip
