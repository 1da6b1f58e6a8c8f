"""The tokens that `plain_tokens` cuts are those of sqlglot."""

import random

import pytest
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import TokenError

from experiments.workloads.queries import built_in_queries, resolve_sql
from optimizer.sql.plain_tokens import plain_tokens

BUILT_IN = tuple(resolve_sql(query.name) for query in built_in_queries())
_WORDS = r"""a _ group by GROUP BY grouping sets order similar to double precision user user-defined fetch rename execute select
    1a e E' x' n' ' '' "q" "by" 1 2.5 1. . .5 1e5 1_0 0x1 $ $1 @ - -- -> ->> /* */ /*+ * ( ) , ; = == < > <= >= <> != <-> :: : :=
    | || |> ! é [ ] { } {{ {% %} \ % + / // ** ? ?:: ~ ~~ ^ & # `"""
PIECES = (*_WORDS.split(), "\n", "\t", "\r", "\x0b", "\u00a0", "'a b'", '"q r"', "'\n'")


def figures(tokens):
    return [(token.token_type, token.text, token.start, token.end, token.comments) for token in tokens]


def of_sqlglot(sql):
    try:
        return figures(DuckDB().tokenize(sql))
    except TokenError as error:
        return str(error)


def test_the_built_in_queries_have_the_tokens_of_sqlglot():
    plain = [(sql, tokens) for sql in BUILT_IN if (tokens := plain_tokens(sql)) is not None]
    assert len(plain) > 0.99 * len(BUILT_IN)
    for sql, tokens in plain:
        assert figures(tokens) == of_sqlglot(sql)


@pytest.mark.parametrize("seed", range(4))
def test_pieces_beside_one_another_have_the_tokens_of_sqlglot_or_are_not_plain(seed):
    rng = random.Random(seed)
    plain = 0
    for _ in range(20_000):
        sql = rng.choice(("", " ")).join(rng.choices(PIECES, k=rng.randint(1, 7)))
        tokens = plain_tokens(sql)
        if tokens is not None:
            plain += 1
            assert figures(tokens) == of_sqlglot(sql), sql
    assert plain > 2_000


@pytest.mark.parametrize(
    "sql",
    [
        "select 1 -- why", "select 1 /* why */", "select $1", "select e'a'", "select [1]", "select 1e5", "select 'a", 'select "a',
        "select 'a\\b'", "select a->b", "select user-defined", "select a\u00a0b", "fetch first 3 rows only",
    ],
)  # fmt: skip
def test_these_are_left_to_sqlglot(sql):
    assert plain_tokens(sql) is None
