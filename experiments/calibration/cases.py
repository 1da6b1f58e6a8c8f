"""Queries that make an operator work: each names it, and how plans without it are ruled out.

A point is a query with all its operators: what a scan below a join takes is told from the join by the points of scans.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

HASH, MERGE, LOOPS = "join_to_hash_join", "join_to_merge_join", "join_to_nested_loop_join"
HASHED, STREAMED = "aggregate_to_hash_aggregate", "aggregate_to_streaming_aggregate"
INTO_SCAN = "filter_push_scan"


class Case(NamedTuple):
    """`family`: what the table of results calls it; `operator`: a name that must occur in the plan; `disable`: rules switched
    off; `settings`: others."""

    family: str
    operator: str
    sql: str
    disable: tuple[str, ...] = ()
    settings: tuple[tuple[str, Any], ...] = ()


MOST_PAIRS = 3_000_000  # of nested loops
ONE_BY_ONE = (("decorrelate", "none"),)


def cases(sizes: Sequence[int]) -> Iterator[Case]:
    """For tables of these sizes, ascending; the smallest says what starting costs."""
    for n in sizes:
        yield from _scans(n)
        yield from _filters(n)
        yield from _aggregates(n)
        yield from _orders(n)
        yield from _sets(n)
        yield from _windows(n)
        for m in sizes:
            if m <= n:
                yield from _joins(n, m)
    yield from _starts(sizes[0])
    yield from _applies(sizes[0], sizes[1:])


def _scans(n: int) -> Iterator[Case]:
    for columns in ("id", "few", "v, f", "d", "text", "id, few, many, big, run, v, f, d, text"):
        yield Case("scan", "table_scan", f"select {columns} from t{n}")
    yield Case("scan", "table_scan", f"select id, v from t{n} where v < {n // 2}")
    yield Case("scan", "table_scan", f"select id, v from t{n} where v * 3 + few < {n} and f + f > 0.5")


def _filters(n: int) -> Iterator[Case]:
    for test in (
        f"v < {n // 2}",
        f"v + id < {n} and f * 2 < 1",
        f"v * 3 + id * 2 - few < {n} and f * f + f < 0.9 and id + 1 <> v",
    ):
        yield Case("filter", "filter_rows", f"select id, v, f from t{n} where {test}", (INTO_SCAN,))
    for values in ("v + 1", "v * 2 + id, f * f + f", "v + 1, v * 2, id - v, f + 1, f * 2 - f, id * 3 + few, v - few"):
        yield Case("project", "project_rows", f"select {values} from t{n}")
    for values in ("text like '%77%'", "substring(text, 1, 6), text like '%1%2%', v", "upper(text), f"):
        yield Case("project", "project_rows", f"select {values} from t{n}")


def _joins(n: int, m: int) -> Iterator[Case]:
    some = (MERGE, LOOPS)
    for key in ("id", "big", "text"):
        sql = f"select a.id, a.v, b.f from t{n} a join u{m} b on a.{key} = b.{key}"
        yield Case("hash join", "hash_join", sql, some)
    yield Case(
        "hash join", "hash_join", f"select a.id, b.id, b.f from t{n} a join u{m} b on a.big = b.big and a.few = b.few", some
    )
    yield Case("hash join", "hash_join", f"select a.id, b.id from t{n} a join u{m} b on a.id = b.v and a.f < b.f", some)
    yield Case(
        "hash join", "hash_join", f"select a.id, a.v from t{n} a where exists (select * from u{m} b where b.v = a.v)", some
    )
    if n * m / 1000 <= MOST_PAIRS:
        yield Case("hash join", "hash_join", f"select a.id, a.v, b.id, b.f from t{n} a join u{m} b on a.many = b.many", some)
    off = (HASH, LOOPS)
    yield Case("merge join", "merge_join", f"select a.id, a.v, b.f from s{n} a join s{m} b on a.run = b.run and a.id = b.id", off)
    if n == m:
        yield Case("merge join", "merge_join", f"select a.id, a.v, b.f from s{n} a join s{m} b on a.run = b.run", off)
    if n * m <= MOST_PAIRS:
        few = f"select a.id, b.id, b.f from t{n} a join u{m} b on a.v - b.v < -{n + m}"
        yield Case("nested loops", "nested_loop_join", few)
        yield Case("nested loops", "nested_loop_join", f"select a.id, b.id from t{n} a join u{m} b on a.f + b.f < 0.02")
        two = f"select a.id, b.f from t{n} a join u{m} b on a.v - b.v < -{n + m} and a.few + b.few * 2 > 40"
        yield Case("nested loops", "nested_loop_join", two)


def _aggregates(n: int) -> Iterator[Case]:
    for calls in ("count(*)", "sum(v), min(f)", "sum(v), avg(f), min(id), max(f), count(*)"):
        for key in ("few", "many", "big", "id"):
            yield Case("hash aggregate", "hash_aggregate", f"select {key}, {calls} from t{n} group by {key}", (STREAMED,))
        yield Case("hash aggregate", "hash_aggregate", f"select {calls} from t{n}", (STREAMED,))
        yield Case("streaming aggregate", "streaming_aggregate", f"select run, {calls} from s{n} group by run", (HASHED,))
    yield Case("hash aggregate", "hash_aggregate", f"select text, sum(v) from t{n} group by text", (STREAMED,))
    yield Case("hash aggregate", "hash_aggregate", f"select few, many, sum(v) from t{n} group by few, many", (STREAMED,))
    yield Case("streaming aggregate", "streaming_aggregate", f"select run, id, sum(v) from s{n} group by run, id", (HASHED,))


def _orders(n: int) -> Iterator[Case]:
    for order in ("v", "f", "few, v", "text"):
        yield Case("sort", "sort", f"select v, f, few, id, text from t{n} order by {order}")
    for order in ("run, v", "run, f desc, few"):
        yield Case("partial sort", "partial_sort", f"select run, v, f, few, id from s{n} order by {order}")
    for count in (10, 1000):
        if count <= n:
            yield Case("top-k", "top_k", f"select v, f, id from t{n} order by v limit {count}")
            yield Case("top-k", "top_k", f"select v, f, few from t{n} order by few, f limit {count}")


def _sets(n: int) -> Iterator[Case]:
    merged = f"select * from (select run, id from s{n} union all select run, id from s{n}) x order by run, id"
    yield Case("union", "merge_union", merged)
    yield Case("union", "union_all", f"select v, f, id from t{n} union all select v, f, id from u{n}")
    for word in ("intersect", "except", "intersect all", "except all"):
        yield Case("set operation", "hash_set_op", f"select many, few from t{n} {word} select many, few from u{n}")
        yield Case("set operation", "hash_set_op", f"select id from t{n} {word} select v from u{n}")


def _windows(n: int) -> Iterator[Case]:
    over = "over (partition by run order by id"
    for calls in (
        f"row_number() {over})",
        f"sum(v) {over})",
        f"row_number() {over}), sum(v) {over}), lag(v) {over})",
        f"min(f) {over} rows between 3 preceding and 3 following)",
        f"sum(v) {over} range between 2 preceding and 2 following)",
    ):
        yield Case("window", "window_rows", f"select run, id, {calls} from s{n}")


def _starts(n: int) -> Iterator[Case]:
    """Many operators over few rows."""
    joins = " ".join(f"join u{n} x{i} on x{i}.id = t.id" for i in range(5))
    yield Case("start", "hash_join", f"select t.id, t.v, x0.v from t{n} t {joins}", (MERGE, LOOPS))
    yield Case("start", "hash_join", f"select t.few, sum(x1.v) from t{n} t {joins} group by t.few order by t.few", (MERGE, LOOPS))
    yield Case(
        "start", "hash_aggregate", f"select few, count(*) from (select few, many from t{n} group by few, many) x group by few"
    )


def _applies(few: int, sizes: Sequence[int]) -> Iterator[Case]:
    """Correlated subqueries, evaluated for each row."""
    for n in sizes:
        for outer in sorted({few, min(300, n)}):
            left = f"(select * from t{n} where id < {outer}) a"
            inner = f"u{n} b"
            yield _apply(f"select a.id from {left} where exists (select * from {inner} where b.big = a.big)", "lookup_rows")
            yield _apply(f"select a.id, (select sum(b.v) from {inner} where b.big = a.big) from {left}", "hash_aggregate")
            yield _apply(f"select a.id, (select sum(b.v) from {inner} where b.many = a.many) from {left}", "nested_apply")
            yield _apply(
                f"select a.id from {left} where a.v > (select avg(b.v) from {inner} where b.few = a.few)", "nested_apply"
            )
            grouped = f"select max(c) from (select b.few, count(*) c from {inner} where b.many = a.many group by b.few) x"
            yield _apply(f"select a.id, ({grouped}) from {left}", "hash_aggregate", STREAMED)
            first = f"select count(*) from {inner} where b.many = a.many group by b.few order by b.few limit 1"
            yield _apply(f"select a.id, ({first}) from {left}", "streaming_aggregate", HASHED)
            first = f"select a.id, (select b.v from {inner} where b.many = a.many order by b.f limit 1) from {left}"
            yield _apply(first, "limit_rows", "limit_to_top_k")
            yield _apply(first, "top_k", "limit_to_limit_rows")
            joined = f"select count(*) from {inner} join t{few} c on b.few = c.few where b.big = a.big"
            yield _apply(f"select a.id, ({joined}) from {left}", "nested_apply")
            both = f"select b.v * 2 v from {inner} where b.big = a.big union all select c.v from s{n} c where c.id = a.id"
            yield _apply(f"select a.id, (select sum(v) from ({both}) x) from {left}", "union_all")
        if n <= 100_000:
            left = f"(select * from t{n} where id < {few}) a"
            yield _apply(f"select a.id, (select count(*) from u{n} b where b.v < a.v) from {left}", "nested_apply")
            yield _apply(f"select a.id, (select count(*) from u{n} b where b.v + a.id < {n} - a.v) from {left}", "nested_apply")


def _apply(sql: str, operator: str, *disable: str) -> Case:
    return Case("apply", operator, sql, disable, ONE_BY_ONE)
