"""Small relations, random trees of joins of every kind over them, and what a join of two bags is.

Relation i has two columns, x (1, 2 or NULL) and m (always 1), so that a row of NULLs that an outer join adds is told apart from
a row whose x is NULL. A row of a join is a tuple with a slot for each relation: None where the relation is not in it, is hidden
by a semi or anti join or is NULL-extended, else (x,). A bag is a Counter of rows.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

import pyarrow as pa

from optimizer.algebra import Filter, Join, JoinKind, Node, Scan, ScanColumn, Tree, column_ids
from optimizer.algebra.evaluate import holds
from optimizer.algebra.predicates import compare, conjunction, predicate_columns
from optimizer.algebra.scalars import BOOL, Call, ColumnRef, Literal, Predicate, Scalar

INT = pa.int64()
INNER, SEMI, ANTI, LEFT, RIGHT, FULL = (JoinKind(k) for k in ("inner", "semi", "anti", "left", "right", "full"))
Slot = tuple[int | None] | None
Row = tuple[Slot, ...]
Bag = Counter[Row]


def x(i: int) -> Scalar:
    return ColumnRef(2 * i, INT)


def m(i: int) -> Scalar:
    return ColumnRef(2 * i + 1, INT)


def scan(i: int) -> Tree:
    return Tree(Scan(f"t{i}", f"t{i}", (ScanColumn(2 * i, "x"), ScanColumn(2 * i + 1, "m"))))


def join(kind: JoinKind, left: Tree, right: Tree, *conjuncts: Scalar) -> Tree:
    return Tree(Join(kind, conjunction(conjuncts)), (left, right))


def call(function: str, *args: Scalar) -> Scalar:
    return Call(function, args, BOOL)


def absent(i: int) -> Scalar:
    """TRUE where relation i is NULL-extended."""
    return call("is_null", m(i))


def present(i: int) -> Scalar:
    return call("is_not_null", m(i))


def equal(i: int, j: int) -> Scalar:
    return compare("=", x(i), x(j))


def coalesced(i: int, j: int) -> Scalar:
    return Call("coalesce", (x(i), x(j)), INT)


# -- bags ---------------------------------------------------------------------------------------------------------------


class Evaluator:
    """Joins bags over `n` relations; remembers what a predicate says of the slots it reads.

    Conjuncts that may raise are tested after the others; `seen`: on which slots each was.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.seen: dict[Scalar, set[tuple[Slot, ...]]] = {}
        self._known: dict[Predicate, tuple[tuple[int, ...], dict[tuple[Slot, ...], bool]]] = {}

    def relation(self, i: int, values: Iterable[int | None]) -> Bag:
        return Counter(tuple((value,) if k == i else None for k in range(self.n)) for value in values)

    def true(self, predicate: Predicate, row: Row) -> bool:
        safe = tuple(s for s in predicate if not s.raises)
        if safe and not self._test(safe, row):
            return False
        return all(self._test((s,), row) for s in predicate if s.raises)

    def _test(self, predicate: Predicate, row: Row) -> bool:
        if predicate not in self._known:
            read = tuple(sorted({c // 2 for c in column_ids(predicate_columns(predicate))}))
            self._known[predicate] = read, {}
        read, known = self._known[predicate]
        slots = tuple(row[i] for i in read)
        if predicate[0].raises:
            self.seen.setdefault(predicate[0], set()).add(slots)
        if slots not in known:
            values: dict[int, int | None] = {}
            for i, slot in zip(read, slots, strict=True):
                values[2 * i], values[2 * i + 1] = (None, None) if slot is None else (slot[0], 1)
            known[slots] = holds(predicate, values)
        return known[slots]

    def run(self, tree: Node, relations: Sequence[Bag]) -> Bag:
        """The rows of a tree of joins and filters over scans."""
        assert isinstance(tree, Tree)
        inputs = [self.run(child, relations) for child in tree.inputs]
        match tree.op:
            case Scan(columns=columns):
                return relations[columns[0].id // 2]
            case Join(kind=kind, predicate=predicate):
                return self.join(kind, predicate, inputs[0], inputs[1])
            case Filter(predicate=predicate):
                return self.filter(predicate, inputs[0])
        raise AssertionError(f"{tree.op.name} in a tree of joins")

    def filter(self, predicate: Predicate, bag: Bag) -> Bag:
        return Counter({row: count for row, count in bag.items() if self.true(predicate, row)}) if predicate else bag

    def join(self, kind: JoinKind, predicate: Predicate, left: Bag, right: Bag) -> Bag:
        result: Bag = Counter()
        matched: set[Row] = set()
        for a, times in left.items():
            found = False
            for b, count in right.items():
                both = tuple(p if p is not None else q for p, q in zip(a, b, strict=True))
                if self.true(predicate, both):
                    found = True
                    matched.add(b)
                    if not kind.left_only:
                        result[both] += times * count
            if (kind is SEMI and found) or (not found and (kind is ANTI or kind.keeps_left)):
                result[a] += times
        if kind.keeps_right:
            for b, count in right.items():
                if b not in matched:
                    result[b] += count
        return result


def random_values(random: Random) -> list[int | None]:
    return [random.choice([None, 1, 1, 2]) for _ in range(random.choice([0, 1, 2, 2, 3]))]


# -- random trees -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Style:
    """Shares of joins that have: a conjunct over three relations, several conjuncts, a conjunct over one input, none at all,
    a conjunct that may raise."""

    wide: float = 0.0
    several: float = 0.0
    lopsided: float = 0.0
    cross: float = 0.0
    raising: float = 0.0
    kinds: Sequence[JoinKind] = (INNER, SEMI, ANTI, LEFT, FULL)


SIMPLE = Style()
WIDE = Style(wide=0.35)
INNER_ONLY = Style(wide=0.3, several=0.4, lopsided=0.1, cross=0.15, raising=0.1, kinds=(INNER,))
WILD = Style(0.25, 0.35, 0.12, 0.12, 0.1, (INNER, INNER, SEMI, ANTI, LEFT, LEFT, RIGHT, FULL))


def random_tree(random: Random, n: int, style: Style = SIMPLE) -> Tree:
    """A random tree of joins over relations 0 … n - 1 in a random order."""
    order = list(range(n))
    random.shuffle(order)

    def grow(leaves: list[int]) -> tuple[Tree, list[int]]:
        """A tree, and the relations whose columns come out of it."""
        if len(leaves) == 1:
            return scan(leaves[0]), leaves
        cut = random.choice([1, len(leaves) - 1, random.randrange(1, len(leaves))])
        left, on_left = grow(leaves[:cut])
        right, on_right = grow(leaves[cut:])
        kind = random.choice(style.kinds)
        tree = join(kind, left, right, *random_conjuncts(random, kind, on_left, on_right, style))
        return tree, on_left if kind.left_only else on_left + on_right

    return grow(order)[0]


def random_conjuncts(random: Random, kind: JoinKind, left: list[int], right: list[int], style: Style) -> list[Scalar]:
    if random.random() < style.cross:
        return []
    if random.random() < style.lopsided:
        i = random.choice(left + right)
        return [random.choice([compare("=", x(i), Literal(1, INT)), call("is_null", x(i)), absent(i)])]
    found = []
    while not found or random.random() < style.several:
        i, j = random.choice(left), random.choice(right)
        if random.random() < style.raising:
            total = Call("+", (x(i), x(j)), INT)
            found.append(compare(random.choice(["=", "<>"]), total, Literal(random.choice([2, 3]), INT)))
            continue
        others = [k for k in left + right if k not in (i, j)]
        if others and random.random() < style.wide:
            k = random.choice(others)
            if k in right:
                i, j = j, i
            found.append(random.choice([
                call("or", equal(i, j), equal(k, j)), compare("=", coalesced(i, k), x(j)),
                call("or", equal(i, j), absent(k)), call("or", call("and", equal(i, j), present(k)), equal(k, j)),
            ]))  # fmt: skip
            continue
        if random.random() < 0.5:
            i, j = j, i
        forms = [
            equal(i, j), equal(i, j), compare("<>", x(i), x(j)),  # reject NULLs on both
            call("or", equal(i, j), absent(i)), call("or", equal(i, j), absent(i), absent(j)),  # on neither
            call("is_not_distinct_from", x(i), x(j)), compare("=", coalesced(i, j), Literal(1, INT)),
            compare("=", coalesced(i, j), x(j)),  # on j
        ]  # fmt: skip
        if kind is not INNER:  # of an inner join it would be two conjuncts
            forms += [call("and", call("or", equal(i, j), absent(i)), present(j))] * 2  # on j
        found.append(random.choice(forms))
    return found
