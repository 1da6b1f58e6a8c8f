"""Tables of a program's own beside those of a dataset: anything Arrow can read, kept in a file for the executors."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from optimizer.catalog.table import Catalog, Table
from optimizer.dataset import open_dataset
from optimizer.errors import CatalogError


def written(name: str, data: Any) -> Table:
    """`data` as a table, in a file that goes with it: an Arrow table, a pandas or Polars DataFrame, whatever else has the Arrow C
    stream interface, or a mapping from column names to lists or NumPy arrays. Raises CatalogError."""
    if not isinstance(name, str):
        raise CatalogError(f"the name of a table is a text, not {name!r:.60}")
    if not name:
        raise CatalogError("a table needs a name, and this one is empty")
    folder = TemporaryDirectory(prefix="planscope-")
    place = Path(folder.name)
    try:
        table = _arrow(data)
        if not table.num_columns:
            raise CatalogError(f'"{name}" has no columns')
        _write(table, place / "t.arrow")
        return replace(_opened(name, table, place), name=name, folder=folder)
    except (TypeError, ValueError, OverflowError, pa.ArrowException) as error:
        raise CatalogError(
            f'"{name}" cannot be read as a table: {str(error).splitlines()[0]}\n'
            "give an Arrow table, a DataFrame of pandas or Polars, or a mapping from column names to lists or NumPy arrays"
        ) from error


def _arrow(data: Any) -> pa.Table:
    if isinstance(data, Mapping):
        return pa.table(dict(data))
    if type(data).__module__.startswith("pandas.") and hasattr(data, "columns"):
        # the index of a table is no column, whichever rows were kept
        return pa.Table.from_pandas(data, preserve_index=False)
    return pa.table(data)


def _opened(name: str, table: pa.Table, place: Path) -> Table:
    try:
        (found,) = open_dataset(place).tables.values()
    except CatalogError as error:
        table.validate(full=True)  # says which column is wrong, and not that of a file
        raise CatalogError(str(error).replace(str(place / "t.arrow"), f'"{name}"')) from error
    return found


def _write(table: pa.Table, path: Path) -> None:
    """A file has one dictionary for a column, so columns with several become plain; and so do runs, which are not read."""
    for place, column in enumerate(table.columns):
        plain = None
        if pa.types.is_run_end_encoded(column.type):
            plain = pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], column.type.value_type)
        elif pa.types.is_dictionary(column.type) and column.num_chunks > 1:
            plain = column.cast(column.type.value_type)
        if plain is not None:
            table = table.set_column(place, table.field(place).with_type(plain.type), plain)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def with_tables(catalog: Catalog, tables: Iterable[Table]) -> Catalog:
    """The catalog with these tables, which take the place of others of their names."""
    own = {table.name.lower(): table for table in tables}
    kept = [table for table in catalog.tables.values() if table.name.lower() not in own]
    files = (str(file) for table in own.values() for file in table.files)
    unread = {name: reason for name, reason in catalog.unread.items() if name not in own}
    return Catalog(catalog.name, [*kept, *own.values()], [catalog.digest, *files], unread, catalog.passed_over)
