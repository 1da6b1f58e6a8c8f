"""An experiment for tests: some items have rows, one hangs, one raises, one ends its process."""

import os
import signal

import pyarrow as pa

from experiments.bench.child import untimed
from experiments.bench.experiment import Figure, Item, Options, Row, Section, Table
from optimizer.errors import InternalError, Unsupported
from tests.bench.clock import pass_time

NAME = "tests.bench.toy"
HELP = "A toy."
MODES = ("plain", "wild")
KEYS = ("part",)


def items(options: Options) -> list[Item]:
    return [{"query": query, "mode": mode} for query in options.queries for mode in options.modes]


def measure(item: Item) -> list[Row]:
    if log := os.environ.get("TOY_LOG"):
        with open(log, "a") as file:
            file.write(f"{item['query']}\n")
    match item["query"]:
        case "hang":
            pass_time(1000)
            signal.pause()
        case "open":
            with untimed():
                pass_time(1000)
        case "large":
            held = bytearray(b"x" * (400 << 20))
            signal.pause()
            return [{"held": len(held)}]
        case "die":
            os._exit(7)
        case "raise":
            raise InternalError("a bug of the toy")
        case "refuse":
            raise Unsupported("not this one")
    cost = float(len(item["query"])) * (2.0 if item["mode"] == "wild" else 1.0)
    return [{"part": part, "cost": cost * part, "curve": [1.0, cost]} for part in (1, 2)]


def report(rows: pa.Table) -> list[Section]:
    found = [row for row in rows.to_pylist() if row["status"] == "ok"]
    table = pa.table({"query": [row["query"] for row in found], "cost": [row["cost"] for row in found]})
    data = pa.table(
        {"x": [row["part"] for row in found], "y": [row["cost"] for row in found], "series": [row["mode"] for row in found]}
    )
    figure = Figure("cost", "Cost & <part>", data, "lines", "part", "cost", log_y=True)
    return [Section("Costs", "What `toy` found.", [Table("costs", "A row for each part.", table)], [figure])]
