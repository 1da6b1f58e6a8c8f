"""Random queries with window functions over one table of every type: ties, NULLs, NaN, negative numbers.

Only what SQL determines is asked: functions that look at single rows (`lag`, `row_number`, ROWS frames, …) get an order that
ends with the key `id`, and so does an ORDER BY of the query. Not drawn, as DuckDB 1.5 goes wrong there: frames whose start lies
behind their end (counts below 0; drawn with `inverted`), and a frame added to a window that itself refers to another (the
partition is lost).
"""

from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random

import pyarrow as pa

TYPES = {
    "id": pa.int64(), "p": pa.int32(), "q": pa.string(), "i": pa.int32(), "n": pa.int64(), "u": pa.uint8(),
    "d": pa.decimal128(9, 2), "w": pa.decimal128(30, 4), "f": pa.float64(), "g": pa.float32(), "t": pa.date32(),
    "m": pa.timestamp("us"), "b": pa.bool_(),
}  # fmt: skip
NUMBERS = ("i", "n", "u", "d", "w", "f", "g")
AMOUNTS = {"i": 6, "n": 1 << 40, "u": 5, "d": 3, "w": 10**16, "f": 2, "g": 2, "id": 4}
DDL = "create table v (id bigint primary key, p integer, q varchar, i integer, n bigint, u utinyint, d decimal(9, 2), " \
    "w decimal(30, 4), f double, g float, t date, m timestamp, b boolean);\n"  # fmt: skip


def table(seed: int, rows: int) -> pa.Table:
    """A table `v` with so many rows, in no order."""
    random = Random(f"windows {seed}")
    day, noon = date(2020, 2, 28), datetime(2020, 2, 28, 12)

    def some(value: object, missing: float = 0.2) -> object:
        return None if random.random() < missing else value

    def row(id: int) -> tuple[object, ...]:
        return (
            id, some(random.randrange(3)), some(random.choice(["x", "xy", "", "é"])), some(random.randrange(-6, 7)),
            some(random.choice([-1, 1]) * random.choice([0, 7, 1 << 41, (1 << 63) - 1])), some(random.choice([0, 3, 4, 9, 255])),
            some(Decimal(random.randrange(-900, 900)) / 100),
            some(Decimal(random.randrange(-9, 9)) * 10 ** random.choice([0, 17, 25])),
            some(random.choice([0.0, -0.0, 0.5, 1.25, -3.0, 8.0, float("nan"), float("inf"), -1e18])),
            some(random.choice([0.0, 0.5, -1.5, 3.0])),
            some(day + timedelta(days=random.choice([-60, -31, -1, 0, 1, 2, 30, 365]))),
            some(noon + timedelta(hours=random.choice([-700, -48, -1, 0, 1, 26, 800]))), some(random.random() < 0.5),
        )  # fmt: skip

    made = [row(id) for id in range(rows)]
    random.shuffle(made)
    return pa.table({c: pa.array([r[k] for r in made], type) for k, (c, type) in enumerate(TYPES.items())})


class WindowQueries:
    """`text()` gives one query after the other."""

    def __init__(self, seed: int, inverted: bool = False) -> None:
        self.random, self.inverted = Random(f"queries {seed}"), inverted

    def text(self) -> str:
        random = self.random
        die = random.random()
        if die < 0.6:
            return self.plain("v", list(TYPES))
        if die < 0.75:
            return self.grouped()
        if die < 0.9:
            return self.nested()
        return self.named()

    # -- queries --------------------------------------------------------------------------------------------------------

    def plain(self, source: str, columns: list[str]) -> str:
        random = self.random
        calls = [self.call(columns) for _ in range(random.choice([1, 1, 2, 3, 4]))]
        kept = random.sample(columns, 2) if random.random() < 0.7 else []
        if kept and "p" in columns and random.random() < 0.5:
            kept = ["p", "id"]
        items = ", ".join([*kept, *(f"{call} as r{k}" for k, call in enumerate(calls))])
        where = random.choice(["", "", "", " where i > -3", " where p is not null or b", " where false"])
        qualify = ""
        if random.random() < 0.2:
            qualify = random.choice([f" qualify {self.number_call(columns)} <= 4", " qualify r0 is not null"])
        if random.random() < 0.15:
            return f"select distinct {items} from {source}{where}{qualify}"
        order = ""
        if random.random() < 0.4:
            first = random.choice(["", "r0, ", "p, r0, ", "r0 desc, ", "i desc nulls first, ", f"{self.number_call(columns)}, "])
            order = f" order by {first}id"
        return f"select {items} from {source}{where}{qualify}{order}"

    def grouped(self) -> str:
        """Windows over groups: their arguments, partitions and orders are aggregates and keys."""
        random = self.random
        keys = random.sample(["p", "q", "b", "i % 3"], random.choice([1, 2]))
        values = ["count(*)", "sum(i)", "max(t)", "count(distinct u)", "min(d)"]
        calls = []
        for _ in range(random.choice([1, 2])):
            function = random.choice(["sum(count(*))", "max(max(t))", "sum(sum(i))", "rank()", "avg(count(*))", "count(min(d))"])
            partition = f"partition by {random.choice(keys)} " if random.random() < 0.4 else ""
            order = f"order by {random.choice([*keys, *values])}{self.direction()}" if random.random() < 0.7 else ""
            calls.append(f"{function} over ({partition}{order})")
        qualify = random.choice(["", "", " qualify count(*) over () > 1", " qualify rank() over (order by count(*)) < 3"])
        having = random.choice(["", "", " having count(*) > 1"])
        return f"select {', '.join([*keys, *calls])} from v group by {', '.join(keys)}{having}{qualify}"

    def nested(self) -> str:
        """A window over the result of a window, a join beside it, or an aggregate above it."""
        random = self.random
        inner = f"(select *, {self.call(list(TYPES))} as r, {self.number_call(list(TYPES))} as s from v) as o"
        die = random.random()
        if die < 0.4:
            return f"select id, r, {self.call(['id', 'p', 's', 'q', 'i'])} as z from {inner}"
        if die < 0.7:
            condition = random.choice(["s < 4", "s = 1", "p = 1", "i > 0"])
            return f"select s, count(*), count(r) from {inner} where {condition} group by s"
        return f"select o.id, o.r, v.id from {inner} join v on o.s = v.id where {random.choice(['o.s <= 3', 'o.p = v.p'])}"

    def named(self) -> str:
        random = self.random
        window = f"w as ({self.partition(list(TYPES))}), t as (w order by {random.choice(list(TYPES))}{self.direction()}, id)"
        calls = [
            random.choice(["count(*) over w", "max(i) over w", "sum(d) over (w order by i)", "row_number() over t"]),
            random.choice(
                [
                    "lag(i) over t", "sum(i) over (w order by id rows 2 preceding)", "first_value(q) over t",
                    "rank() over (w order by q)",
                ]
            ),
        ]  # fmt: skip
        return f"select id, {', '.join(calls)} from v window {window}"

    # -- calls ----------------------------------------------------------------------------------------------------------

    def call(self, columns: list[str]) -> str:
        die = self.random.random()
        if die < 0.2:
            return self.number_call(columns)
        return self.value_call(columns) if die < 0.45 else self.aggregate_call(columns)

    def number_call(self, columns: list[str]) -> str:
        random = self.random
        total = random.choice(["row_number()", f"ntile({random.choice(['1', '2', '3', '7', '100', 'coalesce(p, 4) + 1'])})"])
        if random.random() < 0.5:
            return f"{total if 'p' in columns else 'row_number()'} over ({self.over(columns, total=True)})"
        function = random.choice(["rank", "dense_rank", "percent_rank", "cume_dist"])
        return f"{function}() over ({self.over(columns, total=random.random() < 0.3)})"

    def value_call(self, columns: list[str]) -> str:
        random = self.random
        value = random.choice(columns)
        nulls = random.choice(["", "", " ignore nulls", " respect nulls"])
        function = random.choice(["lag", "lead", "first_value", "last_value", "nth_value"])
        if function in ("lag", "lead"):
            args = [value]
            if random.random() < 0.7:
                args.append(random.choice(["0", "1", "2", "-1", "5", "id - 3", "null", "p" if "p" in columns else "2"]))
                if random.random() < 0.5:
                    args.append(random.choice([value, "null"]))
            return f"{function}({', '.join(args)}{nulls}) over ({self.over(columns, total=True)})"
        number = f", {random.choice(['1', '2', '3', '0', 'id'])}" if function == "nth_value" else ""
        order = self.over(columns, total=True)
        return f"{function}({value}{number}{nulls}) over ({order} {self.frame(random.choice(['rows', 'groups', 'rows']))})"

    def aggregate_call(self, columns: list[str]) -> str:
        random = self.random
        function = random.choice(["count", "sum", "avg", "min", "max"])
        usable = [c for c in columns if c in NUMBERS or c == "id"] if function in ("sum", "avg") else columns
        argument = random.choice(usable)
        if argument in ("w", "n") and function == "sum" and random.random() < 0.5:
            argument = "id"
        text = f"{function}({'distinct ' if random.random() < 0.2 else ''}{argument})"
        if function == "count" and random.random() < 0.3:
            text = "count(*)"
        filter = f" filter (where {random.choice(['i > 0', 'b', 'p = 1', 'q is null'])})" if random.random() < 0.15 else ""
        if "i" not in columns or "b" not in columns or "q" not in columns:
            filter = ""
        return f"{text}{filter} over ({self.framed(columns)})"

    def framed(self, columns: list[str]) -> str:
        random = self.random
        die = random.random()
        if die < 0.25:
            return self.over(columns, total=False)
        if die < 0.5:
            return f"{self.over(columns, total=True)} {self.frame('rows')}"
        if die < 0.7:
            return f"{self.over(columns, total=False, sure=True)} {self.frame(random.choice(['groups', 'range']))}"
        key = random.choice([c for c in columns if c in AMOUNTS or c in "tm"])
        partition = self.partition(columns) if random.random() < 0.6 else ""
        return f"{partition} order by {key}{self.direction()} {self.frame('range', key)}"

    def over(self, columns: list[str], total: bool, sure: bool = False) -> str:
        random = self.random
        parts = [self.partition(columns)] if random.random() < 0.6 else []
        keys = [f"{random.choice(columns)}{self.direction()}" for _ in range(random.choice([0, 1, 1, 2]))]
        keys += ["id"] if total or (sure and not keys) else []
        return " ".join([*parts, *(["order by " + ", ".join(keys)] if keys else [])])

    def partition(self, columns: list[str]) -> str:
        random = self.random
        keys = random.sample(columns, random.choice([1, 1, 2]))
        return f"partition by {', '.join(keys)}" if random.random() < 0.8 or "i" not in columns else "partition by i % 2"

    def direction(self) -> str:
        return self.random.choice(["", "", " desc", " nulls first", " desc nulls first"])

    def frame(self, unit: str, key: str | None = None) -> str:
        """A frame; with `key`, RANGE with distances between values of that column."""
        random = self.random
        while True:
            start, end = self.bound(key, unit), self.bound(key, unit)
            text = f"{unit} between {start[1]} and {end[1]}"
            if start[0] == "uf" or end[0] == "up" or (start[0] == "c" and end[0] == "p") or (start[0] == "f" and end[0] in "cp"):
                continue
            same = start[0] == end[0] and start[0] in ("p", "f")
            behind = same and (start[2] < end[2]) == (start[0] == "p") and start[2] != end[2]
            if (behind and not self.inverted) or (unit == "range" and key is None and (start[2] or end[2])):
                continue
            exclude = random.choice(["", "", "", " exclude current row", " exclude group", " exclude ties", " exclude no others"])
            return text + exclude

    def bound(self, key: str | None, unit: str) -> tuple[str, str, float]:
        random = self.random
        side = random.choice(["up", "p", "p", "c", "f", "f", "uf"])
        if side in ("up", "uf", "c"):
            return side, {"up": "unbounded preceding", "uf": "unbounded following", "c": "current row"}[side], 0
        if unit == "range" and key is None:
            return "c", "current row", 0
        amount: float = random.choice([0, 1, 1, 2, 3, 50])
        text = str(amount)
        if key in ("t", "m"):
            amount = random.choice([0, 1, 2, 35])
            text = f"interval {amount} {'month' if random.random() < 0.2 else 'day'}"
            amount *= 1 if "day" in text else 30
            if key == "t" and "day" in text and random.random() < 0.5:
                text = str(amount)
            if key == "m" and random.random() < 0.3:
                text = f"interval {amount} hour"
                amount /= 24
        elif key is not None:
            amount = AMOUNTS[key] * random.choice([0, 1, 2])
            half = key in ("d", "w", "f", "g") and random.random() < 0.4
            text = f"{amount}.5" if half else str(amount)  # never 1e16, a DOUBLE, for which DuckDB rounds decimals
            amount += 0.5 if half else 0
        return side, f"{text} {'preceding' if side == 'p' else 'following'}", amount
