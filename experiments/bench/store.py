"""Rows on disk as soon as their item is done.

    FOLDER/_items/ID.parquet     the rows of one item: a file that appears whole or not at all, so it says that its item is done
    FOLDER/results.parquet       the rows of all, once a run has ended
    FOLDER/_lock                 held by the process that measures

A run that was killed loses at most the items under way. A file that is damaged counts as none.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from executor.atomic import atomic_output, make_folder
from experiments.bench.experiment import Experiment, Item, Row
from experiments.lock import hold
from optimizer.errors import OutputError

ROWS, LOCK, _ITEMS = "results.parquet", "_lock", "_items"


class Store:
    """The rows of `experiment` in `folder`; without an experiment, to read them. Raises OutputError."""

    def __init__(self, folder: str | Path, experiment: Experiment | None = None) -> None:
        self.folder, self._experiment = Path(folder), experiment
        self._schema: pa.Schema | None = getattr(experiment, "SCHEMA", None)
        self._whole, self._items = self.folder / ROWS, self.folder / _ITEMS

    def hold(self, what: str) -> AbstractContextManager[None]:
        """For one process at a time. Raises OutputError, naming the other one."""
        return hold(make_folder(self.folder) / LOCK, what)

    def has_file(self, item: Item) -> bool:
        """Whether the item has a file of its own."""
        return _is_whole(self._file(item))

    def finished(self) -> set[str]:
        """The identities of items that are done."""
        known = set(_read(self._whole, ["item"])["item"].to_pylist()) if _is_whole(self._whole) else set()
        return known | {path.stem for path in self.parts()}

    def parts(self) -> list[Path]:
        """The files of single items."""
        return [path for path in self._items.glob("*.parquet") if _is_whole(path)]

    def missing(self, items: Iterable[Item]) -> list[Item]:
        """Those that are not done, each once."""
        done = self.finished()
        return [item for mark, item in {self._identity(item): item for item in items}.items() if mark not in done]

    def add(self, item: Item, rows: Sequence[Row]) -> None:
        """Keeps the rows of an item, with its columns."""
        whole: Callable[[Item, Row], Row] = getattr(self._experiment, "row", lambda item, row: {**item, **row})
        mark = self._identity(item)
        make_folder(self._items)
        with atomic_output(self._file(item)) as file:
            pq.write_table(self._table([{"item": mark, **whole(item, row)} for row in rows]), file, write_statistics=False)

    def rows(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows so far, without columns that none of them has. Raises OutputError where there are none."""
        while True:
            with suppress(FileNotFoundError):  # another process has just made one file of those that were listed
                return self._rows(columns)

    def _rows(self, columns: Sequence[str] | None) -> pa.Table:
        whole = [self._whole] if _is_whole(self._whole) else []
        known = {mark for path in whole for mark in _read(path, ["item"])["item"].to_pylist()}
        parts = [path for path in self.parts() if path.stem not in known]  # if one was killed before it removed them
        paths = [*whole, *sorted(parts, key=lambda path: path.stat().st_mtime_ns)]
        if not paths:
            raise OutputError(f"there are no results of an experiment in {self.folder}")
        tables = [_read(path, columns) for path in paths]
        if self._schema is not None:
            tables.insert(0, self._schema.empty_table())
        return pa.concat_tables(tables, promote_options="permissive")

    def replace(self, table: pa.Table) -> pa.Table:
        """Makes one file of `table`, in place of all that are there."""
        with atomic_output(self._whole) as file:
            pq.write_table(table, file, write_page_checksum=True)
        for path in self._items.glob("*.parquet"):
            path.unlink()
        with suppress(OSError):  # there is none, or something in it is not ours
            self._items.rmdir()
        return table

    def finish(self, items: Sequence[Item]) -> pa.Table:
        """Makes one file of the items', and returns its rows, in the order of `items`, those of others after them."""
        table, places = self.rows(), {self._identity(item): place for place, item in enumerate(items)}
        order = pa.array([places.get(mark, len(places)) for mark in table["item"].to_pylist()])
        return self.replace(table.take(pc.sort_indices(order)))

    def _identity(self, item: Item) -> str:
        assert self._experiment is not None, "a store without an experiment is for reading"
        return identity(self._experiment.NAME, item)

    def _file(self, item: Item) -> Path:
        return self._items / f"{self._identity(item)}.parquet"

    def _table(self, rows: Sequence[Row]) -> pa.Table:
        if self._schema is None:
            return table_of(rows)
        known = {name for row in rows for name, value in row.items() if value is not None}
        rows = [{name: list(value.items()) if isinstance(value, dict) else value for name, value in row.items()} for row in rows]
        return pa.Table.from_pylist(rows, pa.schema([field for field in self._schema if field.name in known]))


def identity(name: str, item: Item) -> str:
    """Twelve hex digits of the experiment's name and the item's content, unless the item has an identity of its own, `item`."""
    text = json.dumps([name, item], sort_keys=True, ensure_ascii=False)
    return str(item.get("item") or hashlib.sha256(text.encode()).hexdigest()[:12])


def table_of(rows: Iterable[Row]) -> pa.Table:
    """Rows as a table: columns in the order in which they first appear, None where a row has none."""
    rows = list(rows)
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: [row.get(name) for row in rows] for name in names})


def _is_whole(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            file.seek(-4, 2)
            return file.read() == b"PAR1"
    except OSError:
        return False


def _read(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    try:
        return pq.ParquetFile(path, page_checksum_verification=True).read(columns)
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException) as error:
        raise OutputError(f"{path} is damaged: {error}\nremove it, and the same command measures its items again") from error
