"""The join order that another system chooses for a query, so that it can be priced in our model (`order_links` makes it fit).

DuckDB plans the query over native tables with the same rows, and its optimized plan is read with `json_serialize_plan`. A plan
names tables and not aliases, but numbers its scans in the order of FROM, as our bound tree has them. DuckDB is no dependency of
planscope: it comes with the extra `test`. PostgreSQL's plans are read from what EXPLAIN (FORMAT JSON) wrote: recorded beside a
query, in a file, or just now by the PostgreSQL that psql reaches.
"""

import json
import subprocess
from pathlib import Path
from shutil import which
from typing import Any, NamedTuple

from experiments import workloads
from experiments.duckdb_sql import duckdb_module, for_duckdb, load_table
from optimizer.algebra.logical import Scan
from optimizer.algebra.subqueries import subqueries_of
from optimizer.algebra.trees import Tree, postorder
from optimizer.catalog.table import Catalog
from optimizer.errors import Unsupported
from optimizer.joins.join_order import JoinOrder, show_join_order
from optimizer.pipeline import OptimizedQuery

# the first would share the scans of a table; the second, run after joins are ordered, leaves plans that cannot be written as JSON
_WITHOUT = ("common_subplan", "column_lifetime")


class SystemOrder(NamedTuple):
    """`system` with its version; `order` as `--join-order` takes it."""

    system: str
    order: str


def duckdb_order(catalog: Catalog, query: OptimizedQuery) -> SystemOrder:
    """DuckDB's join order of a query that we have planned. Relations that our pre-pass found to be of no use are left out.

    Raises Unsupported where it is not known, or DuckDB is not there.
    """
    module = duckdb_module()
    if module is None:
        raise Unsupported("DuckDB is not installed", hint="pip install 'planscope[test]' or pip install duckdb")
    if catalog.statistics_only:
        raise Unsupported(f"the dataset {catalog.name} has statistics only, and DuckDB plans with rows")
    aliases = _aliases(query.stages[0].tree)
    kept = {
        node.op.alias.lower() for node in postorder(query.stages[-1].tree) if isinstance(node, Tree) and isinstance(node.op, Scan)
    }
    connection: Any = module.connect(":memory:")
    try:
        for name in dict.fromkeys(table for table, _ in aliases):
            load_table(connection, catalog.tables[name])
        connection.execute(f"set disabled_optimizers = '{','.join(_WITHOUT)}'")
        text = connection.execute("select json_serialize_plan(?, optimize := true)", [for_duckdb(query.sql)]).fetchone()[0]
    except module.Error as error:
        raise Unsupported(f"DuckDB does not plan this query: {str(error).splitlines()[0]}") from None
    finally:
        connection.close()
    found = json.loads(text)
    if found["error"]:
        raise Unsupported(f"DuckDB does not show the plan of this query: {found.get('error_message', 'no reason given')}")
    plan = found["plans"][0]
    scans = _scans(plan.get("plan", plan), aliases)
    order = _order(plan.get("plan", plan), {index: alias for index, alias in scans.items() if alias in kept})
    if order is None or isinstance(order, str):
        raise Unsupported("DuckDB's plan of this query joins nothing")
    return SystemOrder(f"DuckDB {module.__version__}", show_join_order(order))


def _aliases(tree: Tree) -> list[tuple[str, str]]:
    """(table, alias) of each scan, in the order of FROM. Raises Unsupported where aliases do not tell them apart."""
    found: list[tuple[str, str]] = []
    pending: list[Any] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node.op, Scan):
            found.append((node.op.table, node.op.alias.lower()))
        if subqueries_of(node.op.scalars()):
            raise Unsupported("the order of a query with subqueries in expressions is not read off DuckDB's plan")
        pending += reversed(node.inputs)
    aliases = [alias for _, alias in found]
    twice = next((alias for alias in aliases if aliases.count(alias) > 1), None)
    if twice is not None:
        raise Unsupported(f"two relations of the query are called {twice}", hint="give each an alias of its own")
    return found


def _scans(plan: dict[str, Any], aliases: list[tuple[str, str]]) -> dict[int, str]:
    """The alias of each scan of the plan, by its number."""
    scans: dict[int, str] = {}
    pending = [plan]
    while pending:
        node = pending.pop()
        if node["type"] == "LOGICAL_GET":
            scans[node["table_index"]] = node["function_data"].get("table", "")
        pending += node.get("children", [])
    if [scans[i] for i in sorted(scans)] != [table for table, _ in aliases]:
        raise Unsupported("DuckDB's plan does not scan the tables of FROM one by one, so its order is not known")
    return {index: alias for index, (_, alias) in zip(sorted(scans), aliases, strict=True)}


def _order(plan: dict[str, Any], scans: dict[int, str]) -> JoinOrder | None:
    """The order of the joins of `scans` in a plan; None where it has none of them. Iterative: plans may be deep."""
    built: list[JoinOrder | None] = []
    stack = [(plan, False)]
    while stack:
        node, ready = stack.pop()
        children = node.get("children", [])
        if not ready:
            stack += [(node, True), *((child, False) for child in reversed(children))]
        elif node["type"] == "LOGICAL_GET":
            built.append(scans.get(node["table_index"]))
        else:
            parts = built[len(built) - len(children) :]
            del built[len(built) - len(children) :]
            joined: JoinOrder | None = None
            for part in parts:
                joined = part if joined is None else joined if part is None else (joined, part)
            built.append(joined)
    return built[0]


def recorded_plan(name: str) -> Path:
    """Where the plan of a built-in query is recorded, if it is."""
    workload, _, number = name.partition("/")
    return Path(workloads.__file__ or "").parent / workload / "postgres" / f"{number}.json"


def order_of_postgres(name: str, sql: str, source: str | None) -> SystemOrder:
    """PostgreSQL's order of a query: from a file, or asked of the database at a DSN; without a source, the recorded one of the
    built-in query `name`. Raises Unsupported where there is none."""
    if source is None:
        if not recorded_plan(name).is_file():
            raise Unsupported(
                "PostgreSQL's order of this query is not recorded",
                hint="--postgres names a database with these tables (dbname=... or postgresql://...), which psql asks, or a file "
                "that EXPLAIN (FORMAT JSON) wrote; recorded are the queries of stats",
            )
        return postgres_order(recorded_plan(name))
    if Path(source).is_file():
        return postgres_order(Path(source))
    if "=" not in source and "://" not in source:
        raise Unsupported(f"there is no file {source}, and a database is named by dbname=... or postgresql://...")
    psql = which("psql")
    if psql is None:
        raise Unsupported("psql is not installed, which asks PostgreSQL for its plan", hint="or give a file with the plan")
    asked = [psql, "-X", "-w", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", source, "-f", "-"]
    explain = f"EXPLAIN (FORMAT JSON) {sql.strip().rstrip(';')};"
    done = subprocess.run(asked, input=explain, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unsupported(f"PostgreSQL does not plan this query: {(done.stderr.strip() or 'psql failed').splitlines()[0]}")
    return _read_postgres(done.stdout, "that PostgreSQL made")


def postgres_order(file: Path) -> SystemOrder:
    """The join order in what `EXPLAIN (FORMAT JSON)` of PostgreSQL wrote. Raises Unsupported where it holds no plan of joins."""
    try:
        return _read_postgres(file.read_text(encoding="utf-8"), f"in {file}")
    except (OSError, UnicodeDecodeError) as error:
        raise Unsupported(f"cannot read {file}: {error}") from None


def _read_postgres(text: str, where: str) -> SystemOrder:
    try:
        order = _postgres_order(json.loads(text)[0]["Plan"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise Unsupported(f"the plan {where} is not what EXPLAIN (FORMAT JSON) writes") from None
    if order is None or isinstance(order, str):
        raise Unsupported(f"the plan {where} joins nothing")
    return SystemOrder("PostgreSQL", show_join_order(order))


def _postgres_order(node: dict[str, Any]) -> JoinOrder | None:
    """Scans name their alias; what is below a bitmap scan names none. Plans that expressions run are no part of the joins."""
    if "Alias" in node and node["Node Type"].endswith("Scan"):
        return str(node["Alias"]).lower()
    joined: JoinOrder | None = None
    for child in node.get("Plans", ()):
        part = None if child.get("Parent Relationship") in ("InitPlan", "SubPlan") else _postgres_order(child)
        joined = part if joined is None else joined if part is None else (joined, part)
    return joined
