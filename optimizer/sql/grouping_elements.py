"""The clause GROUP BY: a list of elements, each of which stands for some grouping sets.

    e                       the set (e)
    (a, b)                  the set (a, b)
    ROLLUP (a, b)           (a, b), (a), ()
    CUBE (a, b)             (a, b), (a), (b), ()
    GROUPING SETS (x, y)    the sets of x, then those of y

Several elements multiply: each set of one is joined with each set of the others. A set that comes out twice counts twice, but
after GROUP BY DISTINCT once.
"""

from collections.abc import Callable, Sequence
from itertools import combinations, product
from math import prod
from typing import Any, NamedTuple

from sqlglot import exp

from optimizer.algebra.scalars import Scalar
from optimizer.sql.coerce import bare
from optimizer.sql.source import Source

MAX_SETS = 4_096

KeySet = tuple[Scalar, ...]


class GroupBy(NamedTuple):
    """`keys` in the order written, `sets` of some of them; a plain GROUP BY is one set of all. None of either has a key twice.
    `node`: the clause, for messages."""

    keys: tuple[Scalar, ...] = ()
    sets: tuple[KeySet, ...] = ((),)
    node: Any = None


def group_by(source: Source, elements: Sequence[Any], key: Callable[[Any], Scalar], distinct: bool) -> GroupBy:
    """The grouping sets of a GROUP BY list, with `distinct` each once; `key` binds one expression.

    Raises Unsupported when they are too many.
    """
    expand = _Expansion(source, key)
    factors = [expand.element(each) for each in elements]
    expand.check(prod(map(len, factors)), elements[0])
    sets = [_united(each) for each in product(*factors)]
    if distinct:
        sets = list({frozenset(each): each for each in reversed(sets)}.values())[::-1]
    return GroupBy(tuple(expand.keys), tuple(sets), elements[0].parent)


def _united(sets: Sequence[KeySet]) -> KeySet:
    return tuple(dict.fromkeys(key for each in sets for key in each))


class _Expansion:
    """Elements to lists of sets; `keys` are those met so far."""

    def __init__(self, source: Source, bind: Callable[[Any], Scalar]) -> None:
        self._source, self._bind = source, bind
        self.keys: dict[Scalar, None] = {}

    def check(self, count: int, node: Any) -> None:
        if count > MAX_SETS:
            raise self._source.unsupported(f"GROUP BY with more than {MAX_SETS} grouping sets", node, "list the sets you need")

    def element(self, node: Any) -> list[KeySet]:
        node = bare(node)
        match node:
            case exp.GroupingSets():
                if not node.expressions:
                    raise self._source.error("GROUPING SETS lists no sets", node, word="GROUPING")
                sets = [each for part in node.expressions for each in self.element(part)]
                self.check(len(sets), node)
                return sets
            case exp.Rollup():
                units = self._units(node)
                return [_united(units[:count]) for count in range(len(units), -1, -1)]
            case exp.Cube():
                units = self._units(node)
                self.check(1 << len(units), node)
                return [_united(each) for count in range(len(units), -1, -1) for each in combinations(units, count)]
        return [self._set(node)]

    def _units(self, node: Any) -> list[KeySet]:
        """The arguments of ROLLUP or CUBE: expressions, or several in parentheses that come and go together."""
        if not node.expressions:
            raise self._source.error(f"{node.key.upper()} has no expressions", node, word=node.key.upper())
        return [self._set(bare(each)) for each in node.expressions]

    def _set(self, node: Any) -> KeySet:
        return _united([(self._key(each),) for each in (node.expressions if isinstance(node, exp.Tuple) else [node])])

    def _key(self, node: Any) -> Scalar:
        key = self._bind(bare(node))
        self.keys[key] = None
        return key
