"""What `planscope data show` draws: the rows that the statistics speak of, once each, and nothing that a name can break."""

import datetime
import json
import xml.etree.ElementTree as xml

import pyarrow as pa
import pytest
from rich.cells import cell_len

from experiments.data_view.as_chart import column_text
from experiments.data_view.as_json import catalog_json
from experiments.data_view.as_svg import svg_text
from experiments.data_view.as_text import table_text
from experiments.data_view.notes import notes
from experiments.data_view.positions import positions
from experiments.data_view.selection import select
from experiments.data_view.shown import cut, padded, value_text
from experiments.data_view.spread import spread
from memo_viz.text import clean
from optimizer.catalog.histogram import Histogram
from optimizer.catalog.table import Catalog, ColumnStats, Table, TableColumn, TableStats
from optimizer.errors import CatalogError

EVIL = '\x1b[31m\u202e</text><script>alert("1")</script>&\n$x$'


def a_catalog() -> Catalog:
    days = (datetime.date(2024, 1, 1), datetime.date(2024, 1, 31), datetime.date(2024, 12, 31))
    stats = {
        "id": ColumnStats(0, 1, 100, 100.0, 8.0, (), Histogram((1, 50, 100), (50.0, 50.0), (50.0, 50.0))),
        "flag": ColumnStats(0, "A", "R", 3.0, 1.0, (("N", 0.5), ("R", 0.3), ("A", 0.2)), degrees=((1, 50), (2, 30))),
        "day": ColumnStats(10, days[0], days[2], 40.0, 4.0, ((days[1], 0.5),), Histogram(days, (20.0, 20.0), (20.0, 19.0))),
        EVIL: ColumnStats(None, EVIL, EVIL, None, None, ((EVIL, 0.1),)),
    }
    types = (pa.int64(), pa.string(), pa.date32(), pa.string())
    columns = tuple(TableColumn(name, type, name != "id") for name, type in zip(stats, types, strict=True))
    figures = TableStats(100, 2000, stats, {("flag", "day"): 77.0}, "2024-05-06")
    return Catalog(
        "demo", [Table("orders", columns, (("id",),), stats=figures), Table("other", (TableColumn("id", pa.int32()),))]
    )


@pytest.mark.parametrize("cells", [1, 2, 7, 16, 48, 200])
@pytest.mark.parametrize("column", ["id", "flag", "day"])
def test_every_row_with_a_value_is_in_one_cell(column, cells):
    stats = a_catalog().tables["orders"].stats.columns[column]
    found = spread(stats, 100, cells)
    assert found is not None and 1 <= len(found.cells) <= cells
    assert sum(cell.rows for cell in found.cells) == pytest.approx(100 - stats.nulls)
    assert sum(cell.common for cell in found.cells) == pytest.approx(100 * sum(share for _, share in stats.mcv))


def test_whole_numbers_get_a_cell_each_where_they_fit():
    histogram = Histogram((1, 2, 4), (30.0, 20.0), (2.0, 2.0))
    found = spread(ColumnStats(0, 1, 4, 4.0, 4.0, (), histogram), 50, 16)
    assert found is not None and [cell.rows for cell in found.cells] == [15, 15, 10, 10]
    assert found.sparkline() == "██▆▆"


def test_one_value_infinities_and_nan():
    inf, nan = float("inf"), float("nan")
    point = spread(ColumnStats(0, 1.5, 1.5, 1.0, 8.0, (), Histogram((1.5, 1.5), (9.0,), (1.0,))), 9, 16)
    assert point is not None and [cell.rows for cell in point.cells] == [9]
    wide = spread(
        ColumnStats(0, -inf, inf, 5.0, 8.0, ((nan, 0.5),), Histogram((-inf, 0.0, 1.0, inf), (2.0, 2.0, 1.0), (1.0,) * 3)), 10, 4
    )
    assert wide is not None and sum(cell.rows for cell in wide.cells) == 10
    few = spread(ColumnStats(0, 1.0, 3.0, 3.0, 8.0, ((3.0, 0.4), (nan, 0.35), (1.0, 0.25))), 100, 16)
    assert few is not None and few.values[:2] == (1.0, 3.0) and [cell.rows for cell in few.cells] == [25, 40, 35]
    nowhere = ColumnStats(0, inf, inf, 1.0, 8.0, (), Histogram((inf, inf), (9.0,), (1.0,)))
    assert spread(nowhere, 9, 16) is None


def test_an_unknown_spread_is_not_guessed():
    assert spread(ColumnStats(0, 1, 7, 2.0, 4.0, ((7, 0.6), (1, 0.25))), 100, 16) is None
    assert spread(ColumnStats(0, 1, 7), 100, 16) is None
    assert spread(ColumnStats(0), 0, 16) is None


@pytest.mark.parametrize(
    "values",
    [
        ["", "a", "aa", "ab", "b", "ba", "ä", "\U0001f600"],
        ["prefix", "prefix0", "prefix00", "prefixz"],
        [b"", b"\x00", b"\x00\xff", b"\xff"],
        [-(2**63), -1, 0, 2**63 - 1],
        [datetime.datetime(1, 1, 1), datetime.datetime(2024, 1, 1, 12), datetime.datetime(9999, 12, 31)],
        [float("-inf"), -1e300, 0.0, 1e300, float("inf")],
        [False, True],
    ],
)
def test_positions_keep_the_order(values):
    position = positions(values)
    assert position is not None
    places = [position(value) for value in values]
    assert places == sorted(places) and places[0] < places[-1]


@pytest.mark.parametrize("width", [80, 99, 100, 119, 120, 160])
def test_lines_fit_and_hold_no_control_characters(width):
    catalog = a_catalog()
    for table in catalog.tables.values():
        texts = [table_text(table, width, notes(table, "x")), *(column_text(table, column, width) for column in table.columns)]
        for line in "\n".join(texts).split("\n"):
            assert cell_len(line) <= width, line
            assert line.isprintable(), line


def test_text_says_what_is_known():
    catalog = a_catalog()
    text = table_text(catalog.tables["orders"], 120, notes(catalog.tables["orders"], "x"))
    for part in (
        "100 rows",
        "analyzed 2024-05-06",
        "key id",
        "77 distinct combinations of flag, day",
        "'N' 50%, 'R' 30%",
        "never",
    ):
        assert part in text
    flag = column_text(catalog.tables["orders"], catalog.tables["orders"].columns[1], 100)
    assert "no value is in more than 50 rows" in flag and "30%    30  ██" in flag
    day = column_text(catalog.tables["orders"], catalog.tables["orders"].columns[2], 100)
    assert "> 2024-01-31    ≤ 2024-12-31    20        19  " in day and "10 NULLs" in day


def test_names_and_values_cannot_get_out_of_the_picture():
    picture = svg_text(a_catalog())
    root = xml.fromstring(picture)
    tags = {element.tag.rsplit("}")[-1] for element in root.iter()}
    assert tags == {"svg", "title", "style", "rect", "text", "g", "path"}
    assert picture == svg_text(a_catalog())
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert any("<script>" in text for text in texts) and not any("\x1b" in text or "\u202e" in text for text in texts)


def test_bars_of_the_picture_are_as_high_as_the_rows():
    root = xml.fromstring(svg_text(select(a_catalog(), "orders", "flag")))
    bars = [e for e in root.iter() if e.get("class") == "common" and e.tag.endswith("rect")][1:]  # the first is the legend's
    heights = [float(bar.get("height")) for bar in bars]  # values in their order: A, N, R
    assert [height / max(heights) for height in heights] == pytest.approx([0.4, 1, 0.6])


def test_json_has_the_documented_keys():
    table = catalog_json(a_catalog())["tables"]["orders"]
    assert list(table) == ["rows", "bytes", "keys", "distinct", "analyzed", "columns"]
    assert table["distinct"] == [{"columns": ["flag", "day"], "ndv": 77.0}] and table["analyzed"] == "2024-05-06"
    assert table["columns"]["id"]["histogram"] == {"bounds": [1, 50, 100], "rows": [50.0, 50.0], "ndv": [50.0, 50.0]}
    assert table["columns"]["day"]["mcv"] == [["2024-01-31", 0.5]]
    json.dumps(catalog_json(a_catalog()), allow_nan=False)


def test_selection():
    catalog = a_catalog()
    assert list(select(catalog, "ORDERS", None).tables) == ["orders"]
    assert [[c.name for c in t.columns] for t in select(catalog, None, "Id").tables.values()] == [["id"], ["id"]]
    with pytest.raises(CatalogError, match=r'(?s)no table "order".*did you mean "orders"'):
        select(catalog, "order", None)
    with pytest.raises(CatalogError, match=r'(?s)no column "flags".*did you mean "flag"'):
        select(catalog, None, "flags")


def test_shown_texts():
    assert clean("a\tb\x00\u202e") == "a b\ufffd\ufffd"
    assert [value_text(v) for v in (None, "", b"\x01", True, 0.1, 12)] == ["NULL", "''", "0x01", "true", "0.1", "12"]
    assert cut("列列列", 4) == "列…" and padded("列", 4) == "列  " and padded("1", 3, right=True) == "  1"
