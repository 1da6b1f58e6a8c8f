"""DuckDB's parser as a class that can be derived from, also where sqlglot is compiled (extra `planscope[fast]`).

Nothing can be derived from a compiled class. The sources lie beside the compiled modules, so the two modules of the parser are
then read from these; tokens and syntax trees are still the compiled ones.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import sqlglot
import sqlglot.parser
from sqlglot.dialects.duckdb import DuckDB


def is_compiled() -> bool:
    """Whether sqlglot is compiled here."""
    return hasattr(DuckDB().parser_class, "__mypyc_attrs__")


def parser_class() -> Any:
    """A class with the interface of sqlglot's parser for DuckDB. Changes nothing that other users of sqlglot see."""
    if not is_compiled():
        return DuckDB().parser_class
    compiled = sqlglot.parser
    try:
        sys.modules["sqlglot.parser"] = sqlglot.parser = _from_source("parser")
        return _from_source("parsers.duckdb").DuckDBParser
    finally:
        sys.modules["sqlglot.parser"] = sqlglot.parser = compiled


def _from_source(name: str) -> ModuleType:
    path = Path(sqlglot.__file__).parent.joinpath(*name.split(".")).with_suffix(".py")
    spec = spec_from_file_location(f"{__name__}.{name}", path)
    assert spec is not None and spec.loader is not None, f"no source in {path}"
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
