"""What an experiment is: a module with items to measure, a measure, and a report.

    NAME = "pruning"                                  of the command `planscope bench pruning`
    HELP = "One line.\n\nMore, if need be."
    def items(options: Options) -> list[Item]         what is to be measured; raises PlanscopeError for wrong options
    def measure(item: Item) -> list[Row]              runs in a child process, with limits of time and memory
    def report(rows: pa.Table) -> list[Section]       rows of all items, failed ones too

An item is a flat dict of JSON values that says all that `measure` needs: query, data, settings, seed. Its content is its
identity, unless it has one of its own by the name `item`.
A row is a flat dict of columns (numbers, texts, lists of them). Those of the item are added to it, and besides

    item        twelve hex digits, the identity of the item
    status      "ok", "timeout", "memory", "error" or "died" (the process ended); failed items have one row with nothing measured
    error       why it failed, None if it did not
    error_kind  the class of the exception
    item_s      seconds on the clock that the item took, all its rows together; item_cpu_s: CPU time
    peak_mb     most memory that the process held during the item, beyond what it held before its first; None where unknown
    rss_mb      the same with what it held before; what earlier items left in the process counts in both
    attempts    2 where a process that had measured other items failed by memory or a crash, and a fresh one tried again

A module may also define

    MODES = ("none", ...)                             names for --modes; `options.modes` has those chosen, all by default
    ARGUMENT = "[PART]..."                            what the command line calls `options.queries`, if not [SQL]...
    OWN = ("data", "pairs", "plugins")                of --data, --set and --plugin those that it does not take
    SHARED = {"rounds": "", "data": "query"}          item columns of which a folder has one value, or one for each value of
                                                      another column, since the report tells rows apart by the others
    PARAMETERS = (click.Option(...), ...)             options of its own; their values are in `options.own`
    OWN_SETTINGS = {"gap": "write --gaps {value}"}    settings that it varies itself, so that --set may not: what to do instead
    TIMEOUT = 60.0                                    seconds for an item, unless --timeout says otherwise
    SEEDS = (50, 10)                                  how many seeds, and with --quick, unless --seeds says so; else there is one
    def settings_of(item: Item) -> Settings           those of an item, if not those of --set
    KEYS = ("aliases",)                               columns that tell the rows of an item apart, for `bench compare`
    COMPARED = ("costed",)                            measures that `bench compare` compares; without it all numbers but memory
    SCHEMA = pa.schema(...)                           the columns of results; those that rows have without it
    def row(item: Item, row: Row) -> Row              a row of results, if not the columns of the item and the row
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol

import pyarrow as pa

from experiments.workloads.queries import default_data, query_name
from optimizer.settings import Settings
from optimizer.stats.injected import for_query

Item = dict[str, Any]
Row = dict[str, Any]


def names_of(text: str | None) -> list[str]:
    """The names in a list with commas, each once; those in brackets are of a name's values: `Noisy(q=4, seed=1)`."""
    return list(dict.fromkeys(name.strip() for name in re.split(r",(?![^(]*\))", text or "") if name.strip()))


@dataclass(frozen=True)
class Options:
    """What the command line asked for. `pairs`: settings that all items share, as name=value; `seeds`: how many."""

    queries: tuple[str, ...] = ()
    data: str | None = None
    pairs: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    seeds: int = 1
    quick: bool = False
    own: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def data_for(self, query: str, usual: str) -> str:
        """The dataset for a query: what --data says, where the query was named; else its only one comes first."""
        own = default_data(query)
        return (self.data or own if query in self.queries else own or self.data) or usual

    def pairs_for(self, query: str) -> list[str]:
        """`pairs`, and which query of a file of injected cardinalities `query` is, if it has a name. Raises SettingsError."""
        settings = Settings.from_pairs(self.pairs)
        if not settings.injected:
            return [*self.pairs]
        named = for_query(settings.replace(estimator="injected"), query_name(query))
        return [*self.pairs, *([f"injected={named.injected}"] if named.injected != settings.injected else [])]


@dataclass(frozen=True)
class Table:
    """`name` is that of its files; the caption says what a row is, and units. `whole`: a terminal shows it however long it is."""

    name: str
    caption: str
    data: pa.Table
    whole: bool = False


@dataclass(frozen=True)
class Figure:
    """A figure as data: columns `x`, `y` and `series`, and `panel` for several side by side. `x` may be text, for bars and cells.

    `lines` joins points by x, `points` does not; `shares` draws for each series the share of its rows with a value of at most x
    (or `y` of them, where there is one); `cells` is a matrix of `value` over x and y, both in the order in which they come, dark
    where it is large. `series`: their order, if not that of the rows, so that figures share their colours. `note`: on the legend.
    """

    name: str
    caption: str
    data: pa.Table
    kind: Literal["lines", "points", "shares", "bars", "cells"]
    x_label: str
    y_label: str
    log_x: bool = False
    log_y: bool = False
    series: Sequence[str] = ()
    note: str = ""


@dataclass(frozen=True)
class Section:
    """A part of a report. `text`: paragraphs, apart by an empty line; `code` in backticks. `problems`: findings that are bugs;
    with one the command fails."""

    title: str
    text: str = ""
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    problems: Sequence[str] = ()


class Experiment(Protocol):
    """A module as above."""

    NAME: str
    HELP: str

    def items(self, options: Options) -> list[Item]: ...

    def measure(self, item: Item) -> list[Row]: ...

    def report(self, rows: pa.Table) -> list[Section]: ...
