"""Rows that satisfy a query whole: one for each table in its FROM clause.

For joins on equal columns and conditions on single tables, as all JOB queries have them. Values that a condition compares
with, texts that a LIKE pattern fits and numbers next to these are tried, in all combinations of columns that a condition reads.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations, product
from typing import NamedTuple

from optimizer.algebra.columns import ColumnId, column_ids
from optimizer.algebra.evaluate import holds
from optimizer.algebra.logical import Aggregate, Filter, Scan
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.predicates import conjuncts
from optimizer.algebra.query import BoundQuery
from optimizer.algebra.scalar_trees import walk
from optimizer.algebra.scalars import Call, ColumnRef, InList, Literal, Scalar
from optimizer.algebra.trees import Tree
from optimizer.errors import InternalError

Value = int | str | None
Samples = Callable[[str, str], Sequence[Value]]  # of a table's column: values that it has
Rows = Mapping[str, Sequence[str]]  # of tables of types: texts by id from 1


class Same(NamedTuple):
    """The id of the row for `alias`."""

    alias: str


@dataclass(slots=True)
class Row:
    """A row of `table`: the columns that matter."""

    table: str
    values: dict[str, Value | Same]


@dataclass(slots=True)
class _Asked:
    """What a query asks of one table: which of the query's columns are its own, and the conditions on it alone."""

    table: str
    columns: dict[ColumnId, str]
    conditions: list[Scalar] = field(default_factory=list)
    shown: set[ColumnId] = field(default_factory=set)  # must not be NULL


def witness(query: BoundQuery, fixed: Rows, samples: Samples) -> dict[str, Row]:
    """A row by alias; together they satisfy the query, and what its aggregates read is not NULL.

    `fixed`: tables whose rows are given; no row is made for them. Raises InternalError when no values are found.
    """
    asked, equal = _asked(query)
    rows: dict[str, Row] = {}
    chosen: dict[str, int] = {}  # id of the row of a table of types, by alias
    for alias, one in asked.items():
        if one.table in fixed:
            chosen[alias] = _fixed_row(alias, one, fixed[one.table])
        else:
            rows[alias] = Row(one.table, dict(_values(alias, one, samples)))
    owner = {id: alias for alias, one in asked.items() for id in one.columns}
    for members in equal:
        value = _common(members, asked, owner, chosen)
        for id in members:
            alias = owner[id]
            name = asked[alias].columns[id]
            if alias in rows and name != "id":
                rows[alias].values[name] = value
    return rows


def compared_texts(query: BoundQuery) -> Iterator[tuple[str, str, str]]:
    """(table, column, text) for each text that a condition asks for by = or IN."""
    asked, _ = _asked(query)
    for one in asked.values():
        for scalar in (part for condition in one.conditions for part in walk(condition)):
            match scalar:
                case Call(function="=", args=(ColumnRef(id=id), Literal(value=str() as text))):
                    yield one.table, one.columns[id], text
                case InList(arg=ColumnRef(id=id), items=items):
                    found = [item.value for item in items if isinstance(item, Literal)]
                    yield from ((one.table, one.columns[id], text) for text in found if isinstance(text, str))


def _asked(query: BoundQuery) -> tuple[dict[str, _Asked], list[set[ColumnId]]]:
    """What is asked of each table, by alias, and the sets of columns that have to be equal."""
    asked: dict[str, _Asked] = {}
    conditions: list[Scalar] = []
    shown: set[ColumnId] = set()
    stack: list[Tree] = [query.tree]
    while stack:
        tree = stack.pop()
        match tree.op:
            case Scan(table=table, alias=alias, columns=columns, predicate=predicate):
                asked[alias] = _Asked(table, {column.id: column.source for column in columns})
                conditions += predicate
            case Filter(predicate=predicate) | Join(predicate=predicate):
                conditions += predicate
            case Aggregate(aggregates=aggregates):
                shown |= {ref.id for item in aggregates for ref in walk(item.call) if isinstance(ref, ColumnRef)}
        stack += [input for input in tree.inputs if isinstance(input, Tree)]
    owner = {id: alias for alias, one in asked.items() for id in one.columns}
    classes: dict[ColumnId, set[ColumnId]] = {}
    for condition in (part for whole in conditions for part in conjuncts(whole)):
        reads = list(column_ids(condition.columns))
        aliases = {owner[id] for id in reads}
        if len(aliases) == 1:
            asked[aliases.pop()].conditions.append(condition)
            continue
        match condition:
            case Call(function="=", args=(ColumnRef(id=left), ColumnRef(id=right))):
                both = classes.get(left, {left}) | classes.get(right, {right})
                classes.update(dict.fromkeys(both, both))
            case _:
                raise InternalError(f"no rows can be made for a condition over several tables: {condition}")
    for id in shown:
        asked[owner[id]].shown.add(id)
    return asked, list({min(members): members for members in classes.values()}.values())


def _fixed_row(alias: str, one: _Asked, texts: Sequence[str]) -> int:
    """The first id of a table of types whose row satisfies the conditions."""
    for number, text in enumerate(texts, 1):
        row = {id: number if name == "id" else text for id, name in one.columns.items()}
        if holds(tuple(one.conditions), row):
            return number
    raise InternalError(f"no row of {one.table} satisfies what is asked of {alias}")


def _values(alias: str, one: _Asked, samples: Samples) -> Iterator[tuple[str, Value]]:
    """Values for the columns that conditions read or that are shown; columns read by one condition are chosen together."""
    groups: list[set[ColumnId]] = [{id} for id in one.shown if one.columns[id] != "id"]
    for condition in one.conditions:
        reads = set(column_ids(condition.columns))
        touching = [group for group in groups if group & reads]
        groups = [group for group in groups if not group & reads] + [reads.union(*touching)]
    for group in groups:
        conditions = tuple(c for c in one.conditions if set(column_ids(c.columns)) <= group)
        columns = sorted(group)
        tried = [_tries(id, conditions, samples(one.table, one.columns[id])) for id in columns]
        for values in product(*tried):
            row = dict(zip(columns, values, strict=True))
            if holds(conditions, row) and all(row[id] is not None for id in one.shown if id in row):
                yield from ((one.columns[id], value) for id, value in zip(columns, values, strict=True))
                break
        else:
            raise InternalError(f"no values found for {alias}: {', '.join(one.columns[id] for id in columns)}")


def _tries(id: ColumnId, conditions: Sequence[Scalar], samples: Sequence[Value]) -> list[Value]:
    """Values that conditions on column `id` may hold for: those asked for, then `samples`, then made up ones, and NULL."""
    asked: list[Value] = []
    made_up: list[Value] = []
    fitting: list[str] = []  # of LIKE patterns
    for scalar in (part for condition in conditions for part in walk(condition)):
        match scalar:
            case Call(function="like", args=(ColumnRef(id=column), Literal(value=str() as pattern))) if column == id:
                fitting.append(re.sub(" +", " ", pattern.replace("%", " ").replace("_", "x")).strip())
                made_up += [fitting[-1], pattern.replace("%", "")]
            case Call(args=(ColumnRef(id=column), Literal(value=int() | str() as value))) if column == id:
                asked.append(value)
                made_up += _near(value)
            case InList(arg=ColumnRef(id=column), items=items) if column == id:
                asked += [item.value for item in items if isinstance(item, Literal)]
    together = [" ".join(some) for count in (2, 3) for some in permutations(fitting, count)]
    return list(dict.fromkeys([*asked, *samples, *made_up, *together, None]))


def _near(value: int | str) -> list[Value]:
    """One more and one less; of a text, by its first character."""
    if isinstance(value, int):
        return [value + 1, value - 1]
    return [chr(ord(value[0]) + 1) + value[1:], chr(ord(value[0]) - 1) + value[1:]] if value else []


def _common(
    members: set[ColumnId], asked: Mapping[str, _Asked], owner: Mapping[ColumnId, str], chosen: Mapping[str, int]
) -> Value | Same:
    """The value of columns that have to be equal: the id, if one of them is a row's id; else 1, an id in every table."""
    for id in sorted(members):
        alias = owner[id]
        if asked[alias].columns[id] == "id":
            return chosen[alias] if alias in chosen else Same(alias)
    return 1
