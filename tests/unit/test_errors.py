"""What a message says of hostile texts: nothing that a terminal obeys, and no more of a long name than one can read."""

import pytest

from optimizer.catalog.table import Catalog
from optimizer.errors import CatalogError, ExecutionError, SqlError, many
from optimizer.sql.bind import bind

CONTROLS = "\x00\x07\x1b[31m\x7f\x9b\u202e\u2066"
EMPTY = Catalog("nothing", [])


@pytest.mark.parametrize(
    "sql",
    [
        f"select 1 {CONTROLS} select", f'select "{CONTROLS}"', f'select 1 from "{CONTROLS}"', f"select '{CONTROLS}' + 1",
        f"select \t'{CONTROLS}'::int", f'select "{CONTROLS}"(1)', f"select 1 as x order by '{CONTROLS}'",
    ],
)  # fmt: skip
def test_sql_errors(sql: str) -> None:
    with pytest.raises(SqlError) as caught:
        bind(sql, EMPTY)
    message = str(caught.value)
    assert message.replace("\n", "").replace("\t", "").isprintable(), ascii(message)


def test_the_caret_stands_under_the_right_place() -> None:
    with pytest.raises(SqlError) as caught:
        bind("select '\x1b\x1b', nothing", EMPTY)
    text, caret = str(caught.value).splitlines()[1:3]
    assert text[caret.index("^") : caret.rindex("^") + 1] == "nothing"


@pytest.mark.parametrize("error", [CatalogError, ExecutionError])
def test_other_errors(error: type[Exception]) -> None:
    assert str(error("a\x1b[31mb\x07\nc\td\u202e")) == "a\\x1b[31mb\\x07\nc\td\\u202e"


def test_long_names_are_cut() -> None:
    name = "n" * 1_000_000
    for sql in (f"select {name}", f"select 1 from {name}", f"select {name}(1)", f"select '{name}'::int"):
        with pytest.raises(SqlError) as caught:
            bind(sql, EMPTY)
        assert len(str(caught.value)) < 3_000 and "n … n" in str(caught.value)


def test_one_is_no_plural() -> None:
    found = [many(count, noun) for count, noun in ((0, "row"), (1, "row"), (1234, "query"), ("1", "key"), ("1.0", "key"))]
    assert found == ["0 rows", "1 row", "1,234 queries", "1 key", "1.0 keys"]
