"""What a script consists of, whatever its format."""

from typing import NamedTuple


class Expected(NamedTuple):
    """The rows a script expects, as printed text.

    `rows`: one tuple a row; or, with `flat`, one value a tuple, the rows one after the other. `digest`: the count and MD5 of
    the printed values instead. `types`: a letter a column, I, R or T. `sort`: nosort, rowsort or valuesort. `null`: how NULL is
    printed.
    """

    rows: tuple[tuple[str, ...], ...] = ()
    flat: bool = False
    digest: tuple[int, str] | None = None
    types: str = ""
    sort: str = "nosort"
    null: str = "NULL"


class Step(NamedTuple):
    """One statement at a line of a script. `fails`: it has to be refused. `expected` None: the script does not say, or not in
    a form that is read. `schema`: the tables it sees, where a script has several sets of them."""

    line: int
    sql: str
    fails: bool = False
    expected: Expected | None = None
    schema: str = ""
