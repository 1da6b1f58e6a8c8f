"""With a compiled sqlglot, from whose classes none can be derived, the parser is read from its source."""

import sys

import sqlglot.parser
from sqlglot.dialects.duckdb import DuckDB

from optimizer.sql.derivable import is_compiled, parser_class


def test_the_source_is_read_and_nobody_else_sees_it(monkeypatch):
    own, module = DuckDB().parser_class, sqlglot.parser
    monkeypatch.setattr(own, "__mypyc_attrs__", (), raising=False)
    assert is_compiled()
    found = type("Derived", (parser_class(),), {})
    assert not issubclass(found, module.Parser)
    (tree,) = found(dialect=DuckDB()).parse(DuckDB().tokenize("select a + 1 from t"), "")
    assert tree.sql() == "SELECT a + 1 FROM t"
    assert DuckDB().parser_class is own
    assert sys.modules["sqlglot.parser"] is sqlglot.parser is module
