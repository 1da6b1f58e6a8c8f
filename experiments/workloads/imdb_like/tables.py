"""The rows of a table, any range of them."""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from experiments.workloads.imdb_like.columns import COLUMNS, Content, Listed, Plain, Reference, Text
from experiments.workloads.imdb_like.figures import FOLDER, TYPES, Figures, rows_at_1, sampled_ndv, tables, types
from experiments.workloads.imdb_like.infos import info_texts
from experiments.workloads.imdb_like.ranks import Ranks, Step, by_deciles, chosen, ranks, steps_of
from experiments.workloads.imdb_like.texts import digest, listed, text
from experiments.workloads.imdb_like.witnesses import Planted, compared, planted, planted_texts, table_rows
from experiments.workloads.job_data import job_catalog

Integers = npt.NDArray[np.int64]
_BYTES = {  # of a row in a file, about; of others 20
    "aka_name": 50, "aka_title": 60, "cast_info": 22, "char_name": 50, "company_name": 55, "complete_cast": 8, "keyword": 25,
    "movie_companies": 18, "movie_info": 22, "movie_info_idx": 13, "movie_keyword": 11, "movie_link": 11, "name": 50,
    "person_info": 25, "title": 60,
}  # fmt: skip
_NOTICE = """-- Synthetic rows for the schema of the Join Order Benchmark, made by planscope from published
-- statistics of IMDB's columns. None of them is IMDB's: names, titles and facts are put together of word lists.

"""


def schema(table: str) -> pa.Schema:
    if table in TYPES:
        id, text = tables()[table]
        return pa.schema([pa.field(id, pa.int32(), False), pa.field(text, pa.string(), False)])
    return pa.schema(
        [pa.field(name, _type(name, content), name not in _not_null()[table]) for name, content in COLUMNS[table].items()]
    )


def schema_sql() -> str:
    """What declares the tables, their keys and foreign keys."""
    return _NOTICE + "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in ("schema.sql", "foreign_keys.sql"))


def row_bytes(table: str) -> float:
    """What a row takes in a file, about."""
    return float(_BYTES.get(table, 20))


def _type(name: str, content: Content) -> pa.DataType:
    whole = content in (Plain.ID, Plain.NUMBER) or isinstance(content, Reference) or name.endswith("_id")
    return pa.int32() if whole else pa.string()


def rows_of(table: str, scale: float, start: int, end: int) -> pa.RecordBatch:
    """Rows `start` to `end` - 1 (from 0) of a table at a scale; the same rows whichever ranges they are made in."""
    wanted = schema(table)
    if table in TYPES:
        texts = types()[table][start:end]
        return pa.record_batch([pa.array(range(start + 1, start + 1 + len(texts)), pa.int32()), pa.array(texts)], schema=wanted)
    made = _Maker(table, scale, np.arange(start, end))
    arrays = {name: made.column(name) for name in wanted.names}
    here = [row for row in _planted(scale).get(table, ()) if start <= row.number < end]
    for name in {name for row in here for name in row.values}:
        arrays[name] = _replaced(arrays[name], {row.number - start: row.values[name] for row in here if name in row.values})
    return pa.record_batch([arrays[name].cast(wanted.field(name).type) for name in wanted.names], schema=wanted)


class _Maker:
    """Columns of some rows of a table, before anything is planted."""

    def __init__(self, table: str, scale: float, numbers: Integers) -> None:
        self._table, self._scale, self._numbers = table, scale, numbers
        self._rows = table_rows(scale)

    def column(self, name: str) -> pa.Array:
        content, figures = COLUMNS[self._table][name], tables()[self._table][name]
        match content:
            case Plain.ID:
                return pa.array(self._numbers + 1)
            case Plain.DIGEST:
                return self._with_nulls(digest(self._table, self._numbers), self._ranks(name, figures))
            case Plain.NOTHING:
                return pa.nulls(len(self._numbers), _type(name, content))
            case Plain.INFO:
                kinds = self.column("info_type_id").to_numpy(zero_copy_only=False)
                placed = self._ranks(name, figures)
                return info_texts(kinds.astype(np.int64), (placed.rank + 0.5) / max(placed.filled, 1))
            case Text(kind=kind, share=share, heads=heads, skew=skew):
                heads = self._heads(name, heads, unique=share == 1)
                placed = self._ranks(name, figures)
                ndv = max(1, min(placed.filled, self._text_ndv(figures, share, skew)))
                return self._with_nulls(text(kind, chosen(placed, ndv, skew), heads), placed)
            case Listed(skew=skew):
                values = tuple(dict.fromkeys([*(figures.values or ()), *compared(self._table, name)]))
                placed = self._ranks(name, figures)
                ndv = max(1, min(placed.filled, sampled_ndv(len(values), figures.filled, self._scale, skew)))
                return self._with_nulls(listed(values, chosen(placed, ndv, skew)), placed)
            case Plain.NUMBER:
                placed = self._ranks(name, figures)
                ndv = sampled_ndv(figures.ndv or 1, figures.filled, self._scale)
                return self._by_deciles(placed, steps_of(figures.deciles or (0,) * 11, ndv, placed.filled))
            case Reference(table=parent):
                placed = self._ranks(name, figures)
                return self._by_deciles(placed, self._reference_steps(figures, parent, placed.filled))

    def _heads(self, name: str, heads: Sequence[str], unique: bool) -> tuple[str, ...]:
        """Texts to be among the most frequent ones; in a column without repeats, those that are not planted anyway."""
        wanted = dict.fromkeys([*heads, *compared(self._table, name)])
        return tuple(text for text in wanted if not (unique and text in planted_texts(self._table, name)))

    def _ranks(self, name: str, figures: Figures) -> Ranks:
        rows = self._rows[self._table]
        nulls = min(rows, round(figures.nulls * rows / figures.rows))
        return ranks(self._numbers, rows, nulls, f"{self._table} {name}")

    def _text_ndv(self, figures: Figures, share: float, skew: float) -> int:
        if figures.ndv is not None:
            return sampled_ndv(figures.ndv, figures.filled, self._scale, skew)
        ndv = max(1.0, share * figures.filled)
        return sampled_ndv(ndv, figures.filled, self._scale, skew) if self._scale < 1 else round(ndv * self._scale)

    def _reference_steps(self, figures: Figures, parent: str, filled: int) -> list[Step]:
        """Deciles and distinct values move with the referenced table's size."""
        there = self._rows[parent]
        ratio = there / rows_at_1(parent)
        deciles = [min(there, max(1, -int(-value * ratio // 1))) for value in figures.deciles or (1,) * 11]
        return steps_of(deciles, min(there, max(1, round((figures.ndv or 1) * ratio))), filled)

    def _by_deciles(self, placed: Ranks, steps: list[Step]) -> pa.Array:
        return pa.array(by_deciles(placed, steps), mask=placed.null)

    def _with_nulls(self, values: pa.Array, placed: Ranks) -> pa.Array:
        return pc.if_else(pa.array(placed.null), pa.scalar(None, values.type), values) if placed.null.any() else values


def _replaced(column: pa.Array, values: Mapping[int, object]) -> pa.Array:
    mask = np.zeros(len(column), bool)
    mask[list(values)] = True
    return pc.replace_with_mask(column, pa.array(mask), pa.array([values[i] for i in sorted(values)], column.type))


@cache
def _not_null() -> dict[str, frozenset[str]]:
    """By table, the columns that schema.sql declares NOT NULL."""
    catalog = job_catalog()
    return {name: frozenset(c.name for c in table.columns if not c.nullable) for name, table in catalog.tables.items()}


@cache
def _planted(scale: float) -> dict[str, list[Planted]]:
    return planted(scale)
