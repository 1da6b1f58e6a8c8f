"""Opening a dataset folder: files and statistics from `catalog`, declarations from `sql`."""

from collections.abc import Sequence
from pathlib import Path

from optimizer.catalog.dataset import declarations_text, read_dataset
from optimizer.catalog.declarations import TableDeclaration
from optimizer.catalog.table import Catalog
from optimizer.sql.schema import parse_schema


def open_dataset(folder: Path | str, name: str | None = None, as_declared: bool = False) -> Catalog:
    """The catalog of a folder with one Parquet, CSV or Arrow file (or folder of part files) per table, and its schema.sql.

    `as_declared`: with keys that an analysis found the data to contradict. Raises CatalogError for whatever is missing,
    unreadable or contradictory.
    """
    return read_dataset(Path(folder), parse_schema, name, as_declared)


def read_declarations(files: Sequence[Path]) -> list[TableDeclaration]:
    """The tables that SQL files of CREATE TABLE and ALTER TABLE declare, read as one text. Raises CatalogError."""
    return parse_schema("\n".join(map(declarations_text, files)), files[0])
