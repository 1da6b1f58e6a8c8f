"""How fast queries run: planscope beside DuckDB and Polars, on the same files with as many threads, rows compared.

Each engine runs a query in a process of its own, so that none lives on memory or threads of another: a run to warm up and to
compare the rows, then rounds in which each runs once. Of the rounds the quickest counts, by time on the clock and by CPU time,
since other programs can only slow a run down.
"""

import math
import os
from operator import itemgetter

import click
import pyarrow as pa

from experiments.bench.child import Child
from experiments.bench.experiment import Figure, Item, Options, Row, Section, Table, names_of
from experiments.bench.summary import geometric_mean, grouped
from experiments.engines import NAMES, installed
from experiments.same_rows import difference
from experiments.workloads.data import open_data
from experiments.workloads.queries import built_in_queries, resolve_sql
from optimizer.errors import ExecutionError, SqlError, many

NAME = "exec"
HELP = """How fast queries run, with DuckDB and Polars beside: time, CPU time, peak memory, ratios. Rows are compared.

Without queries: all built-in ones of the dataset (for imdb_like those of job), by default tpch:1. "operators" stands for queries
on TPC-H in which one operator does nearly all the work.

\b
planscope bench exec
planscope bench exec tpch/q17 tpch/q18 -d tpch:0.1 --rounds 5 -o results
planscope bench exec operators --engines duckdb
"""
PARAMETERS = (
    click.Option(["--threads"], type=click.IntRange(1), metavar="N", help="Of each engine. Default: one for each processor."),
    click.Option(["--rounds"], type=click.IntRange(1), metavar="N", help="Runs that count. Default: 3; 1 with --quick."),
    click.Option(["--engines"], metavar="A,B,...", help="Of duckdb, polars. Default: those that are installed."),
)
TIMEOUT = 600.0
KEYS = ("engine",)
SHARED = dict.fromkeys(("data", "threads", "rounds", "engines"), "")
ROUNDS = 3
OPERATORS = {  # TPC-H: one operator each does nearly all the work
    "scan": "select min(l_orderkey), min(l_partkey), min(l_quantity), min(l_shipdate) from lineitem",
    "text": "select min(l_comment), min(l_shipmode) from lineitem",
    "filter": "select count(*) from lineitem where l_quantity + l_linenumber < 10 and l_shipdate > l_commitdate",
    "arithmetic": "select sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) from lineitem",
    "few_groups": "select l_returnflag, l_linestatus, sum(l_quantity), count(*) from lineitem group by all",
    "some_groups": "select l_partkey, sum(l_quantity), count(*) from lineitem group by l_partkey order by 2 desc limit 10",
    "many_groups": "select l_orderkey, sum(l_quantity), count(*) from lineitem group by l_orderkey order by 2 desc limit 10",
    "join": "select sum(l_quantity), sum(o_totalprice) from lineitem join orders on l_orderkey = o_orderkey",
    "semi_join": "select count(*) from orders where o_orderkey in (select l_orderkey from lineitem where l_quantity > 49)",
    "top": "select * from orders order by o_totalprice desc, o_orderkey limit 100",
    "sort": "select l_extendedprice, l_orderkey from lineitem order by l_extendedprice, l_orderkey",
    "window": "select max(r) from (select rank() over (partition by o_custkey order by o_totalprice) r from orders)",
}
MISSING = "{} is not installed, so its times are left out; to have them: pip install 'planscope[bench]'"


def items(options: Options) -> list[Item]:
    """One for each query. Raises SqlError, and PlanscopeError for data without rows."""
    data = options.data or ("tpch:0.01" if options.quick else "tpch:1")
    others = names_of(options.own.get("engines")) or list(NAMES[1:])
    for name in others:
        if name not in NAMES[1:]:
            raise SqlError(f'there is no engine "{name}" to compare with', hint=f"choose one of {', '.join(NAMES[1:])}")
    workload = data.partition(":")[0].replace("imdb_like", "job")
    queries = [each for query in options.queries for each in (OPERATORS if query == "operators" else (query,))]
    queries = queries or [query.name for query in built_in_queries() if query.name.startswith(f"{workload}/")]
    if not queries:
        raise SqlError(f"there are no built-in queries about {data}", hint="name some, or give SQL")
    texts = {query: OPERATORS.get(query) or resolve_sql(query) for query in queries}
    if open_data(data).statistics_only:  # made, if need be, once the rest is right
        raise SqlError(f"the dataset {data} has statistics only: nothing can be run on it")
    common = {
        "data": data, "engines": [NAMES[0], *others],
        "threads": options.own.get("threads") or os.cpu_count() or 1,
        "rounds": options.own.get("rounds") or (1 if options.quick else ROUNDS),
    }  # fmt: skip
    return [{"query": query, "sql": sql, "pairs": options.pairs_for(query), **common} for query, sql in texts.items()]


def measure(item: Item) -> list[Row]:
    """A row for each engine, planscope first. Milliseconds; `ratio` and `cpu_ratio` are planscope's to this engine's (without
    planning); `mb`: memory beyond that of the idle process. `problem`: why there are no figures, or how the rows differ from
    planscope's. Raises ExecutionError where planscope does not run the query."""
    os.environ["POLARS_MAX_THREADS"] = str(item["threads"])  # read when Polars is imported, over there
    run = {name: item[name] for name in ("data", "sql", "pairs", "threads")}
    engines = {name: Child("experiments.engines", math.inf, 0) for name in item["engines"] if installed(name)}
    try:
        firsts = {name: child.measure({**run, "engine": name, "rows": True})[0] for name, child in engines.items()}
        ours = firsts[NAMES[0]]
        if ours["status"] != "ok":
            raise ExecutionError(f"{item['query']}: {ours['error']}")
        able = [name for name, first in firsts.items() if first["status"] == "ok"]
        rounds = [
            {name: engines[name].measure({**run, "engine": name, "rows": False})[0] for name in able}
            for _ in range(item["rounds"])
        ]
    finally:
        for child in engines.values():
            child.close()
    rows: list[Row] = []
    for name, first in firsts.items():
        if name not in able:
            rows.append({"engine": name, "problem": first["error"]})
            continue
        row = {figure: min(each[name][figure] for each in rounds) for figure in ("ms", "cpu_ms", "plan_ms")}
        held = [each[name]["mb"] for each in (firsts, *rounds) if each[name]["mb"] is not None]
        table = _table(first)
        rows.append({"engine": name, "rows": table.num_rows, **row, "mb": max(held, default=None)})
        rows[-1]["problem"] = different(_table(ours), table)
        if name != NAMES[0]:
            rows[-1] |= {"ratio": rows[0]["ms"] / row["ms"], "cpu_ratio": rows[0]["cpu_ms"] / row["cpu_ms"], "plan_ms": None}
    return rows


def _table(row: Row) -> pa.Table:
    return pa.ipc.open_stream(row["table"]).read_all()


def different(ours: pa.Table, theirs: pa.Table) -> str:
    """How the rows of two engines differ, whose types of numbers need not agree; empty where they are the same."""
    if ours.num_columns != theirs.num_columns:
        return f"{many(theirs.num_columns, 'column')}, not {ours.num_columns}"
    return difference(_plain(ours), _plain(theirs)) or ""


def _plain(table: pa.Table) -> pa.Table:
    """Numbers as doubles, texts and moments as one type each, columns numbered."""
    arrays = []
    for column in table.columns:
        t, type = pa.types, column.type
        if t.is_integer(type) or t.is_decimal(type) or t.is_floating(type):
            column = column.cast(pa.float64(), safe=False)
        elif t.is_large_string(type) or t.is_string_view(type) or t.is_dictionary(type):
            column = column.cast(pa.string())
        elif t.is_date(type) or t.is_timestamp(type):
            column = column.cast(pa.timestamp("us"))
        arrays.append(column)
    return pa.table(arrays, names=[f"c{i}" for i in range(len(arrays))])


def report(rows: pa.Table) -> list[Section]:
    """A line for each query: planscope's figures, then those of each other engine with the ratio."""
    found = [row for row in rows.to_pylist() if row["status"] == "ok"]
    if not found:
        return [Section("Nothing was measured")]
    others = [name for name in dict.fromkeys(row["engine"] for row in found) if name != NAMES[0]]
    lines = []
    for query, mine in grouped(found, itemgetter("query")).items():
        of = {row["engine"]: row for row in mine}
        own = of[NAMES[0]]
        line = {"query": query, "rows": own["rows"], "planning": own["plan_ms"]}
        line |= {"ms": own["ms"], "CPU": own["cpu_ms"], "MB": own["mb"]}
        for name in others:
            row = of.get(name, {})
            line |= {name: row.get("ms"), f"{name} CPU": row.get("cpu_ms"), f"{name} MB": row.get("mb")}
            line |= {f"ratio to {name}": row.get("ratio"), f"of CPU to {name}": row.get("cpu_ratio")}
        lines.append(line)
    text = "Milliseconds, the quickest of the rounds; MB: peak beyond the idle process; ratio: planscope's time to theirs.\n\n"
    notes = [summary(found, name) for name in others]
    notes += [f"{row['query']}, {row['engine']}: {row['problem']}" for row in found if row["problem"]]
    notes += [MISSING.format(name) for name in found[0]["engines"] if name not in (NAMES[0], *others)]
    points = [{"x": row["query"], "series": row["engine"], "y": row["ratio"]} for row in found if row.get("ratio")]
    caption = "planscope's time over the other engine's, by query."
    figure = Figure("ratios", caption, pa.Table.from_pylist(points), "bars", "", "ratio", log_y=True)
    title = f"Execution on {found[0]['data']}, {found[0]['threads']} threads"
    table = Table("execution", "A row for each query.", pa.Table.from_pylist(lines), True)
    return [Section(title, text + "\n\n".join(notes), [table], [figure] if points else [])]


def summary(rows: list[Row], engine: str) -> str:
    """Geometric means of the ratios, with the extremes, and the ratio of the sums."""
    some = {row["query"]: row for row in rows if row["engine"] == engine and row.get("ratio") is not None}
    if not some:
        return f"{engine}: no query ran"
    least, most = (by(some, key=lambda query: some[query]["ratio"]) for by in (min, max))
    own = {row["query"]: row for row in rows if row["engine"] == NAMES[0]}
    total = sum(own[query]["ms"] for query in some) / sum(row["ms"] for row in some.values())
    planned = geometric_mean((own[query]["ms"] + own[query]["plan_ms"]) / row["ms"] for query, row in some.items())
    means = [geometric_mean(row[name] for row in some.values()) for name in ("ratio", "cpu_ratio")]
    return (
        f"planscope to {engine}, {len(some)} queries: geometric mean {means[0]:.2f} ({some[least]['ratio']:.2f} on {least} to "
        f"{some[most]['ratio']:.2f} on {most}; with planning {planned:.2f}), of CPU time {means[1]:.2f}; of the sums {total:.2f}"
    )
