"""Every argument of every syntax tree node that the binder reads is either read or refused; none is dropped in silence.

The samples hold each kind of node. A first pass records which arguments the binder asks for. Into every other argument that
the node class can have a value is put: that has to be refused, or read now. For flags it is not enough to be asked for: their
three values (absent, False, True) have to mean different things, or are listed below with the reason why not.
"""

import sys
from collections import defaultdict
from itertools import combinations
from typing import Any

import pytest
from sqlglot import exp

from optimizer.algebra.printing import show_tree
from optimizer.catalog.table import Catalog
from optimizer.errors import SqlError
from optimizer.sql.context import Context
from optimizer.sql.expressions import HANDLERS
from optimizer.sql.parse import parse
from optimizer.sql.query import bind_query
from optimizer.sql.source import Source
from tests.golden.test_golden import SQL_FILES
from tests.golden.test_golden import read as cases_of

FURTHER_SAMPLES = """
select a & b, a | b, a << 1, a >> 1, ~a, @a, s ~ 'x', s ~* 'x', s similar to 'x',
    current_date, current_timestamp, localtimestamp from t;
select percentile_cont(0.5) within group (order by a) from t;
select +a, -b, a // 2, a % 2, a ** 2, mod(a, b), a is not distinct from b, a is distinct from b from t;
select ceil(f), floor(f), round(n, 1), upper(s), left(s, 2), trim(s), s ^@ 'a', position('a' in s) from t;
select s[1], s[2:3], s glob 'a', typeof(a), ltrim(s), rtrim(s, 'x'), trunc(f, 1) from t;
select contains(s, 'a'), concat(s, 'x'), s || 'y', substring(s, 1, 2), s ilike 'a', s like 'a!%' escape '!' from t;
select year(d), extract(year from d), date_trunc('month', d), date_diff('day', d, ts), date('2020-01-01')
    from t;
select date_add(d, interval '1' day), d + interval '1' month, weekday(d), date_part('year', d) from t;
select greatest(a, b), least(a, b), coalesce(a, b), nullif(a, b), if(bo, 1, 2), case when bo then 1 else 2 end, try_cast(s
    as int) from t;
select a from t where (a, b) in ((1, 2)) and exists (select 1 from u) and a = any (select a from u) and a > all (select a
    from u);
select first_value(a) over w, last_value(a) over w, nth_value(a, 2) over w, lag(a, 1, 0) over w, lead(a) over w, ntile(2)
    over w, row_number() over w, rank() over w, dense_rank() over w, percent_rank() over w, cume_dist() over w, sum(a)
    filter (where bo) over (order by b rows between 1 preceding and current row exclude ties) from t window w as (partition
    by s order by d);
select a, grouping(a), grouping_id(a), count(distinct b), sum(b), avg(b), min(b), max(b) from t group by grouping sets
    (rollup (a), cube (a));
with c(x) as materialized (select a from t) select * exclude (x) from c join lateral (select 1 as y) q on true;
(select a from t order by a desc nulls first limit 1 offset 1) union all select a from u fetch first 2 rows only;
select a from t intersect select a from u except all (values (1)) order by 1;
select distinct a, true, null, 'x', 1 from t natural join u where not (a between 1 and 2 or a is null) and a = 1;
select sum(a) from t group by all having count(*) > 1 qualify row_number() over () > 1;
select (select max(a) from u), t.b::decimal(5, 2) from t join u using (a) left join (t v cross join u w) on v.a <= w.a and
    v.a >= 1;
select a, count(*) from t group by distinct rollup (a), rollup (a);
select date_trunc('month', date '2020-01-31'), first(a) over (), last(a) over () from t limit 2 offset 1;
select a from t where a < 1 or a > 2 or a <> 3 or a * 2 / 1 - 1 = 0
"""

# What sqlglot notes for its translation into other dialects, or about what is written elsewhere too.
MEANS_NOTHING = {
    ("Cast", "_type"): "the type once more",
    ("TryCast", "_type"): "the type once more",
    ("Cast", "safe"): "the class of the node says it",
    ("TryCast", "safe"): "the class of the node says it",
    ("Coalesce", "is_null"): "under which name it was called",
    ("Coalesce", "is_nvl"): "under which name it was called",
    ("Concat", "coalesce"): "true for DuckDB's concat",
    ("Concat", "safe"): "true for DuckDB's concat",
    ("Count", "big_int"): "the type of the result, always BIGINT",
    ("CTE", "materialized"): "see the tests of CTEs",
    ("DPipe", "safe"): "true for DuckDB's ||",
    ("DataType", "nested"): "the parts of a nested type say so themselves",
    ("DateDiff", "date_part_boundary"): "true for DuckDB's date_diff",
    ("DateTrunc", "input_type_preserved"): "what other dialects return",
    ("Div", "safe"): "false for DuckDB's /",
    ("Div", "typed"): "false for DuckDB's /",
    ("Greatest", "ignore_nulls"): "true for DuckDB's greatest",
    ("Least", "ignore_nulls"): "true for DuckDB's least",
    ("Identifier", "global_"): "BigQuery's",
    ("Identifier", "quoted"): "names are compared regardless of case either way",
    ("Identifier", "temporary"): "T-SQL's",
    ("Join", "pivots"): "stands at the table",
    ("Lateral", "ordinality"): "needs a function, which is refused",
    ("Lateral", "outer"): "Hive's LATERAL VIEW OUTER, refused with its word VIEW",
    ("Fetch", "direction"): "FIRST or NEXT",
    ("LimitOptions", "rows"): "the word ROWS",
    ("Round", "casts_non_integer_decimals"): "what other dialects do with the digits",
    ("Select", "hint"): "advice to an optimizer",
    ("Select", "operation_modifiers"): "MySQL's advice to an optimizer",
    ("TimestampTrunc", "input_type_preserved"): "what other dialects return",
    ("Window", "over"): "the word OVER",
}
# Flags for which absent and False are one text, or which are always there.
ABSENT_IS_FALSE = {
    ("Except", "distinct"), ("Intersect", "distinct"), ("Lateral", "view"), ("Like", "negate"), ("LimitOptions", "percent"),
    ("LimitOptions", "with_ties"), ("Ordered", "desc"), ("Union", "distinct"),
}  # fmt: skip


class Reads:
    """Which arguments the code under optimizer/sql asks nodes for."""

    def __init__(self) -> None:
        self.of: defaultdict[int, set[str]] = defaultdict(set)

    def watch(self, tree: Any) -> list[Any]:
        nodes = list(tree.walk())
        for node in nodes:
            node.args = Watched(node.args, self.of[id(node)])
        return nodes


class Watched(dict[str, Any]):
    """The arguments of a node, which notes those that are asked for by name."""

    def __init__(self, args: dict[str, Any], asked: set[str]) -> None:
        super().__init__(args)
        self.asked = asked

    def get(self, key: str, default: Any = None) -> Any:
        self._note(key)
        return super().get(key, default)

    def __getitem__(self, key: str) -> Any:
        self._note(key)
        return super().__getitem__(key)

    def _note(self, key: str) -> None:
        """By us, or by a property of sqlglot (`node.this`, `node.name`) that we use; not by its printing of nodes."""
        frame = sys._getframe(2)
        while frame.f_code.co_name in _PROPERTIES and "sqlglot" in frame.f_code.co_filename and frame.f_back is not None:
            frame = frame.f_back
        if "/optimizer/sql/" in frame.f_code.co_filename.replace("\\", "/"):
            self.asked.add(key)


_PROPERTIES = (
    "this", "expression", "expressions", "name", "text", "alias", "parts", "is_string", "unit", "db", "kind", "alias_or_name",
)  # fmt: skip


def samples() -> list[str]:
    texts = FURTHER_SAMPLES.split(";")
    texts += [case.sql for path in SQL_FILES for case in cases_of(path)[1] if case.stage == "bind"]
    return texts


def bound_text(tree: Any, source: Source, catalog: Catalog) -> str:
    context = Context(source, catalog)
    bound = bind_query(context, tree, None)
    return f"{show_tree(bound.tree, context.columns)} {bound.outputs} {bound.order}"


@pytest.fixture(scope="module")
def read(catalog: Catalog) -> dict[str, set[str]]:
    """By class of node, the arguments that are asked for somewhere in the samples."""
    read: defaultdict[str, set[str]] = defaultdict(set)
    for sql in samples():
        tree, source = parse(sql)
        reads = Reads()
        nodes = reads.watch(tree)
        bound_text(tree, source, catalog)
        for node in nodes:
            read[type(node).__name__] |= reads.of[id(node)]
    return dict(read)


def test_the_samples_have_every_node_with_a_handler(read: dict[str, set[str]]) -> None:
    assert not {kind.__name__ for kind in HANDLERS} - set(read)


def with_value(sql: str, number: int, key: str, value: Any) -> tuple[Any, Source]:
    tree, source = parse(sql)
    node = list(tree.walk())[number]
    node.set(key, value.copy() if isinstance(value, exp.Expr) else value)
    return tree, source


def test_what_is_not_read_is_refused(catalog: Catalog, read: dict[str, set[str]]) -> None:
    dropped: dict[tuple[str, str], str] = {}
    tried: defaultdict[tuple[str, str], int] = defaultdict(int)
    for sql in samples():
        for number, node in enumerate(parse(sql)[0].walk()):
            kind = type(node).__name__
            for key in node.arg_types:
                if key in read[kind] or (kind, key) in MEANS_NOTHING or tried[kind, key] == 3:
                    continue
                tried[kind, key] += 1
                for value in (True, False, exp.column("a"), [exp.column("a")]):
                    tree, source = with_value(sql, number, key, value)
                    reads = Reads()
                    nodes = reads.watch(tree)
                    try:
                        bound_text(tree, source, catalog)
                    except Exception:  # a value that no parser gives may also trip us
                        continue
                    if key not in reads.of[id(nodes[number])]:
                        dropped[kind, key] = f"{value!r} in {sql}"
    assert tried, "every class has arguments that are not read"
    assert not dropped, "\n".join(f"{kind}.{key}: {text}" for (kind, key), text in sorted(dropped.items()))


def test_the_values_of_a_flag_differ(catalog: Catalog) -> None:
    """For every flag that the parser sets: any two of absent, False and True give different trees in some sample."""
    undecided: dict[tuple[str, str], set[tuple[Any, Any]]] = {}
    for sql in samples():
        for number, node in enumerate(parse(sql)[0].walk()):
            for key, value in node.args.items():
                flag = type(node).__name__, key
                if not isinstance(value, bool) or flag in MEANS_NOTHING:
                    continue
                absent = () if node.arg_types[key] or flag in ABSENT_IS_FALSE else (None,)
                pairs = undecided.setdefault(flag, set(combinations((*absent, False, True), 2)))
                if pairs:
                    meanings = {other: meaning(sql, number, key, other, catalog) for other in (*absent, False, True)}
                    pairs -= {pair for pair in pairs if meanings[pair[0]] != meanings[pair[1]]}
    assert ("Group", "all") in undecided, "GROUP BY DISTINCT is why False is not taken for absent"
    assert not {flag: pairs for flag, pairs in undecided.items() if pairs}


def meaning(sql: str, number: int, key: str, value: Any, catalog: Catalog) -> str:
    """What the sample means with this value of an argument of one of its nodes."""
    try:
        return bound_text(*with_value(sql, number, key, value), catalog)
    except SqlError:
        return "refused"


def test_the_parser_still_has_what_is_listed() -> None:
    for kind, key in (*MEANS_NOTHING, *ABSENT_IS_FALSE):
        assert key in (*getattr(exp, kind).arg_types, "_type"), f"{kind} has no {key}"
