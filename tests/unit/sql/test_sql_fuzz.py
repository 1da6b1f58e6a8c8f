"""No text makes the front end fail with anything but a planscope error that has a caret; whatever binds is consistent.

Texts are valid queries with a few words deleted, doubled, exchanged or replaced, and random word salad. Seeded.
"""

import random
import re
from pathlib import Path

import pytest

from optimizer.algebra import Apply, ColumnSet, Tree, column_ids, postorder, walk
from optimizer.algebra.query import BoundQuery
from optimizer.algebra.subqueries import AnySubquery, Subquery
from optimizer.catalog.table import Catalog
from optimizer.errors import SqlError
from optimizer.sql import tokens
from optimizer.sql.bind import bind
from tests.golden.test_golden import SQL_FILES, read

HERE = Path(__file__).parent
TPCH = HERE.parent.parent.parent / "experiments" / "workloads" / "tpch"
SALAD = """
select from where group by having order limit offset distinct all as on using join left right full inner cross natural semi
anti union intersect except values with recursive case when then else end and or not in is null true false between like
escape cast extract interval date timestamp exists any over partition filter qualify rollup grouping sets exclude replace
lateral some unnest asc desc nulls first last year month day for update tablesample a b s d n f ts bo t u x y t.a u.a x.b * t.*
( ) ( ) ( ) , , , . ; = <> < <= > >= + - * / // % || :: : ? $1 -> ^ ! ~ @ # [ ] { } 1 2 0 -1 1.5 .5 1e3 1e 1e999
99999999999999999999999999999999999999999 'x' '' '1994-01-01' '1' "a" "" int decimal(5,2) decimal(50) decimal(3,"") double
boolean int[] sum( count( avg( min( count(*) coalesce( nullif( greatest( abs( round( floor( substring( upper( date_trunc(
year( date_part( concat( trim( position( random() current_date if( mod( row( list( median( 'a''b' $$q$$ -- /* */ é ‘ 0x1f 1_0
"""
WORDS = SALAD.split()
OPERAND = re.compile(r"(?!as|by|on|in|or|is)[a-z]{1,2}|\d+|'.*'|[a-z]+_[a-z]+|[-+*/<>=]")
OPERAND_TEXT = """
a b s d n f ts bo t u x t.a u.c 1 0 2.5 -1 'x' '1' '1994-01-31' null true (a+1) (n*n) sum(a) count(*) max(s) d+1 l_tax
o_orderkey o_orderdate lineitem orders random() (bo) (a,b) 1e3 70000 date'1994-01-01' coalesce(a,n) s::int + - * / <
> = <> || // % (select/**/max(a)from/**/u) exists(select/**/t.a) in(select/**/c/**/from/**/u) =any(select/**/b/**/from/**/t)
(select/**/sum(t.a))
"""
OPERANDS = OPERAND_TEXT.split()
TOKEN = re.compile(r"\w+|'[^']*'|\s+|.", re.DOTALL)


def corpus() -> list[str]:
    texts = [path.read_text("utf-8") for path in sorted(TPCH.glob("q*.sql"))]
    texts += [case.sql for path in SQL_FILES for case in read(path)[1]]
    return texts


def mutated(text: str, rng: random.Random) -> str:
    tokens = TOKEN.findall(text)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        if not tokens:
            break
        i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        operands = [k for k, token in enumerate(tokens) if OPERAND.fullmatch(token)]
        if operands and rng.random() < 0.6:  # keeps the text parsable, so that names and types are tried
            tokens[rng.choice(operands)] = rng.choice(OPERANDS)
            continue
        match rng.randrange(6):
            case 0:
                del tokens[i]
            case 1:
                tokens.insert(i, f" {rng.choice(WORDS)} ")
            case 2:
                tokens[i] = f" {rng.choice(WORDS)} "
            case 3:
                tokens[i], tokens[j] = tokens[j], tokens[i]
            case 4:
                tokens[i:i] = tokens[j : j + rng.randrange(1, 12)]
            case _:
                del tokens[i:]
    return "".join(tokens)


def salad(rng: random.Random) -> str:
    return " ".join(["select", *(rng.choice(WORDS) for _ in range(rng.randrange(1, 15)))])


def assert_consistent(query: BoundQuery) -> None:
    """Every column an operator reads is produced below it or, as an outer column, around it; every output and sort column at the
    root."""
    assert_closed(query.tree, query, 0)
    wanted = [o.id for o in query.outputs] + [key.column for key in query.order]
    assert query.outputs and all(query.tree.columns >> id & 1 for id in wanted)


def assert_closed(root: Tree, query: BoundQuery, around: ColumnSet) -> None:
    """The tree and those of its subqueries read outer columns out of `around` only."""
    assert not root.outer & ~around, f"nothing around has {[query.columns.label(c) for c in column_ids(root.outer & ~around)]}"
    nodes = [node for node in postorder(root) if isinstance(node, Tree)]
    for node in nodes:
        if isinstance(node.op, Apply):
            around |= node.inputs[0].columns
    for node in nodes:
        below = 0
        for child in node.inputs:
            below |= child.columns
        subqueries = [part for scalar in node.op.scalars() for part in walk(scalar) if isinstance(part, Subquery)]
        missing = node.op.used_columns() & ~below & ~(around if subqueries else 0)
        assert not missing, f"{node.op.name} reads {[query.columns.label(c) for c in column_ids(missing)]}"
        for part in subqueries:
            assert_closed(part.tree, query, around | below)
            if isinstance(part, AnySubquery):
                assert all(not s.columns & ~part.tree.columns and not s.outer for s in part.right)


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(4))
def test_mutated_queries(seed: int, catalog: Catalog) -> None:
    rng = random.Random(seed)
    texts = corpus()
    for _ in range(1000):
        text = mutated(rng.choice(texts), rng) if rng.random() < 0.8 else salad(rng)
        try:
            query = bind(text, catalog)
        except SqlError as error:
            refusal = error
        except Exception as error:
            raise AssertionError(f"{type(error).__name__} for {text!r}") from error
        else:
            assert_consistent(query)
            continue
        assert str(refusal) and refusal.start is not None, f"no caret for {text!r}: {refusal}"


def test_the_corpus_itself(catalog: Catalog) -> None:
    bound = 0
    for text in corpus():
        try:
            assert_consistent(bind(text, catalog))
            bound += 1
        except SqlError:
            pass
    assert bound > 70


def test_texts_that_need_no_other_cuts_have_the_same_tokens_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("e'", "E'", "'", "''", "div", "DIV", "$", "e5", "1e5", "x'", "--c\n", "/*", "*/", '"', "select", "//")
    parts = [*"ab_19éD \n+-(),.\\", *words]
    salads = ["".join(random.Random(seed).choices(parts, k=1 + seed % 8)) for seed in range(6000)]
    plain = [sql for sql in salads if tokens._OTHERWISE.search(sql) is None]
    quick = [_cut(sql) for sql in plain]
    monkeypatch.setattr(tokens, "_OTHERWISE", re.compile(""))  # is found in every text
    assert len(plain) > 2000 and quick == [_cut(sql) for sql in plain]


def _cut(sql: str) -> object:
    try:
        return [(token.token_type, token.text, token.start, token.end) for token in tokens.tokenize(sql)]
    except Exception as error:  # what cannot be cut
        return type(error)
