"""Joins: hash, merge and nested loops. Each goes through its left input once, in order, where its kind allows."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar, NamedTuple

from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids, column_set, union
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Label, show_predicate
from optimizer.algebra.physical.operator import PhysicalOperator, Props
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import ColumnRef, Predicate, Scalar
from optimizer.algebra.traits import (
    ALL_PERMUTATIONS,
    ANY,
    MOST_SPELLINGS,
    Alternative,
    Collation,
    TraitSet,
    ascending,
    grouped,
    grouping_spellings,
    joined_on,
    sayable,
    sequences,
    spelled,
    spellings,
)

# each left row's results come together
LEFT_ORDER = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK, JoinKind.SINGLE)
RIGHT_ORDER = (JoinKind.INNER, JoinKind.LEFT)  # and these in the order of the right input, in a nested loop


_AS_THEY_COME = (Alternative((ANY, ANY)),)


def left_order(kind: JoinKind, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
    """A join that goes through its left input once keeps that input's order, and what it has grouped."""
    if required == ANY:
        return _AS_THEY_COME
    if kind not in LEFT_ORDER:
        return ()
    if required.collation and not output.equivalents(required.collation[0].column) & inputs[0].columns:
        return ()
    key = (required, output.other(inputs[0]))
    known: tuple[Alternative, ...] | None = output.answers.get(key)
    if known is None:  # kept, since the joins of one left input ask alike
        ways = spelled(required, inputs[0].columns, output, inputs[0])
        known = output.answers[key] = tuple([Alternative((traits, ANY), traits) for traits in ways])
    return known


def left_offer(kind: JoinKind, delivered: TraitSet, index: int) -> tuple[Alternative, ...]:
    """The same for what the left input, that with index 0, delivers anyhow."""
    return (Alternative((delivered, ANY), delivered),) if index == 0 and kind in LEFT_ORDER else ()


@dataclass(frozen=True, slots=True)
class HashJoin(PhysicalOperator):
    """Builds a hash table on one input's keys, probes it with the other's; `residual` is tested on key matches.

    `keys` pairs a scalar of the left input with one of the right. NULL keys match nothing, but where bit i of `null_safe`
    is set, NULL in key i matches NULL (IS NOT DISTINCT FROM). With the build on the right the left input's order can be
    kept (`delivered` says whether a plan relies on it). Mark joins, which put their answer into column `mark`, and single
    joins build on the right.
    """

    kind: JoinKind
    keys: tuple[tuple[Scalar, Scalar], ...]
    residual: Predicate
    build_left: bool = False
    null_safe: int = 0
    mark: ColumnId | None = None
    name: ClassVar[str] = "hash_join"

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        if self.build_left:
            return _AS_THEY_COME if required == ANY else ()
        return left_order(self.kind, required, output, inputs)

    def derive(self, delivered: TraitSet, index: int, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        return () if self.build_left else left_offer(self.kind, delivered, index)

    def scalars(self) -> tuple[Scalar, ...]:
        return (*chain.from_iterable(self.keys), *self.residual)  # what `_scalars` finds too, but plans have many hash joins

    def describe(self, label: Label) -> str:
        text = _show_join(_kind(self.kind, self.mark, label), self.keys, self.residual, label, self.null_safe)
        return text + (", build left" if self.build_left else "")


class _Aligned(NamedTuple):
    """Left and right orders by the first `fixed` keys of a merge join, and the numbers of the others."""

    fixed: int
    left: Collation
    right: Collation
    rest: list[int]


@dataclass(frozen=True, slots=True)
class MergeJoin(PhysicalOperator):
    """Merges two inputs sorted on the join keys, in the same permutation and directions; keeps the left input's order.

    `keys` pairs a left column with a right column. The plan node's requirements say which permutation was chosen.
    """

    kind: JoinKind
    keys: tuple[tuple[ColumnRef, ColumnRef], ...]
    residual: Predicate
    name: ClassVar[str] = "merge_join"

    def _distinct(self, numbers: Iterable[int], inputs: Props) -> list[int]:
        """The keys `numbers` without those that both inputs know to be equal to an earlier one: they give the same orders."""
        found: dict[tuple[ColumnId, ColumnId], int] = {}
        for i in numbers:
            a, b = self.keys[i]
            found.setdefault((inputs[0].representative(a.id), inputs[1].representative(b.id)), i)
        return list(found.values())

    def _permuted(self, numbers: Sequence[int], inputs: Props) -> list[list[int]]:
        """The keys `numbers` in the permutations that give different orders: all of up to three keys; of more each first, then
        those that others of them determine in no input, in one, in both: the last need no sort."""
        different = self._distinct(numbers, inputs)
        if len(different) > ALL_PERMUTATIONS:
            sides = [[self.keys[i][side].id for i in different] for side in (0, 1)]
            told = [props.without_determined(column_set(ids)) for props, ids in zip(inputs, sides, strict=True)]
            needed = {i: (told[0] >> a & 1) + (told[1] >> b & 1) for i, a, b in zip(different, *sides, strict=True)}
            different.sort(key=lambda i: -needed[i])
        alike = [i for i in numbers if i not in different]
        return [[*leading, *alike] for leading in sequences(different)]

    def _aligned(self, wanted: Collation, side: int, props: LogicalProps, inputs: Props) -> list[_Aligned]:
        """Orders by some of the keys that follow `wanted` as far as they can.

        `props` says which columns are equivalent where `wanted` is meant (the output, or input `side`). Several keys may
        fit one wanted column; below the join they are different columns, so each gives an order of its own.
        """
        partial: list[tuple[tuple[int, ...], Collation, Collation]] = [((), (), ())]
        finished: list[tuple[tuple[int, ...], Collation, Collation]] = []
        for key in wanted:
            same = props.equivalents(key.column)
            longer = []
            for used, left, right in partial:
                fitting = [i for i, pair in enumerate(self.keys) if i not in used and pair[side].columns & same]
                if not fitting:
                    finished.append((used, left, right))
                for i in self._distinct(fitting, inputs):
                    a, b = self.keys[i]
                    longer.append(((*used, i), (*left, key._replace(column=a.id)), (*right, key._replace(column=b.id))))
            partial = longer[:MOST_SPELLINGS]
        everything = range(len(self.keys))
        return [
            _Aligned(len(used), left, right, [i for i in everything if i not in used])
            for used, left, right in [*partial, *finished]
        ]

    def _whole(self, aligned: _Aligned, inputs: Props) -> Iterator[tuple[Collation, Collation]]:
        """Left and right orders by all keys that begin as one by some of them."""
        for rest in self._permuted(aligned.rest, inputs):
            more = ascending(self.keys[i][0].id for i in rest), ascending(self.keys[i][1].id for i in rest)
            yield aligned.left + more[0], aligned.right + more[1]

    def _fixes(self, aligned: _Aligned, output: LogicalProps) -> bool:
        """Whether rows equal on the keys so far are equal on all: equal columns, constants, dependent columns."""
        rest = column_set(self.keys[i][0].id for i in aligned.rest)
        return not rest & ~output.closure(column_set(k.column for k in aligned.left))

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        if self.kind is JoinKind.FULL and required != ANY:
            return ()
        if required.grouping:
            return self._pass_grouping(required.grouping, output, inputs)
        if required.collation:
            lefts = column_set(a.id for a, _ in self.keys)
            if not lefts & output.equivalents(required.collation[0].column) and lefts & ~output.closure(0):
                return ()
            if not sayable(required.collation, inputs[0].columns, output):
                return ()
        result = []
        for aligned in self._aligned(required.collation, 0, output, inputs):
            extra = required.collation[aligned.fixed :]
            if extra and not self._fixes(aligned, output):  # else the left input's order is kept among equal keys
                continue
            for left, right in self._whole(aligned, inputs):
                for more in spellings(extra, inputs[0].columns, output, inputs[0]):
                    delivered = ANY if self.kind is JoinKind.FULL else TraitSet(left + more)
                    result.append(Alternative((TraitSet(left + more), TraitSet(right)), delivered))
        return tuple(result)

    def _pass_grouping(self, columns: ColumnSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        """Keys among the grouping's columns lead; where that are all keys, other columns of the left input may follow."""
        target = output.closure(columns)
        inside = [i for i, (a, _) in enumerate(self.keys) if target >> a.id & 1]
        if not inside:
            return ()
        rest = [i for i in range(len(self.keys)) if i not in inside]
        result, joined = [], union(inputs[0].equivalences)
        leads: dict[tuple[int, ...], list[int]] = {}  # those that determine all that is grouped by, and the other keys
        for numbers in self._permuted(inside, inputs):
            lead, known = 0, output.closure(0)
            while lead < len(numbers) and target & ~known:
                known, lead = output.closure(known | self.keys[numbers[lead]][0].columns), lead + 1
            leads.setdefault(tuple(numbers[:lead]), sorted(numbers[lead:]) + rest)
        for chosen in ((*lead, *others) for lead, after in leads.items() for others in self._permuted(after, inputs)):
            left, right = (ascending(self.keys[i][side].id for i in chosen) for side in (0, 1))
            result.append(Alternative((TraitSet(left), TraitSet(right)), TraitSet(left)))
            for way in grouping_spellings(columns, inputs[0].columns, output, inputs[0]) if not rest else ():
                for start in (left, *((*left, key) for key in joined_on(way, left, inputs[0]))):
                    others = column_ids(inputs[0].without_determined(way, column_set(k.column for k in start)))
                    for longer in (TraitSet(start + ascending(each)) for each in sequences(list(others), joined)):
                        result.append(Alternative((longer, TraitSet(right)), longer))
        return tuple(result)

    def derive(self, delivered: TraitSet, index: int, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        result = []
        full = self.kind is JoinKind.FULL
        for aligned in self._aligned(delivered.collation, index, inputs[index], inputs):
            extra = delivered.collation[aligned.fixed :]
            more = index == 0 and not full and extra and self._fixes(aligned, output)  # all of it, if all keys are constants
            for left, right in self._whole(aligned, inputs) if aligned.fixed or more else ():
                if aligned.fixed:
                    result.append(Alternative((TraitSet(left), TraitSet(right)), ANY if full else TraitSet(left)))
                if more:
                    longer = TraitSet(left + extra)
                    result.append(Alternative((longer, TraitSet(right)), longer))
        return tuple(result)

    def describe(self, label: Label) -> str:
        return _show_join(self.kind.value, self.keys, self.residual, label)


@dataclass(frozen=True, slots=True)
class NestedLoopJoin(PhysicalOperator):
    """Holds the right input and tests the predicate for each left row with each right row; keeps the left order, and the
    right order among the results of one left row. `mark`: the column of a mark join's answer."""

    kind: JoinKind
    predicate: Predicate
    mark: ColumnId | None = None
    name: ClassVar[str] = "nested_loop_join"

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        ways = left_order(self.kind, required, output, inputs)
        if required == ANY or self.kind not in RIGHT_ORDER:
            return ways
        if required.grouping:
            return ways + self._right_groups(required.grouping, output, inputs)
        return ways + self._both_orders(required.collation, output, inputs)

    def _both_orders(self, order: Collation, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        """An order that first tells all left rows apart may go on with an order of the right input, before it what is
        determined by then, a column or all: those joined on. Where the left rows are told apart in the output only, the left
        input is sorted by a key after it: that key is determined there."""
        left, right = inputs
        known = output.closure(column_set([k.column for k in order[:-1]]))
        if not any(not key & ~known for key in left.keys):
            return ()
        for cut in range(len(order)):
            lead, rest = order[:cut], order[cut:]
            if lead and not output.equivalents(lead[-1].column) & left.columns:
                return ()
            known = output.closure(column_set(k.column for k in lead))
            keys = [key for key in left.keys if not key & ~known]
            seconds = spellings(rest, right.columns, output, right) if keys else ()
            if seconds:
                free = [c for c in column_ids(right.without_determined(known & right.columns)) if not right.constants >> c & 1]
                before = [ascending(each) for each in dict.fromkeys((*sequences(free), *((c,) for c in free))) if each]
                seconds = (*seconds, *(each + second for each in before for second in seconds))
                firsts = spellings(lead, left.columns, output, left)
                apart = [
                    (first, left.without_determined(key, column_set(k.column for k in first))) for first in firsts for key in keys
                ]
                unique = [first + ascending(column_ids(missing)) for first, missing in dict.fromkeys(apart)]
                pairs = [(first, second) for first in unique for second in seconds][:MOST_SPELLINGS]
                return tuple(Alternative((TraitSet(a), TraitSet(b)), TraitSet(a + b)) for a, b in pairs)
        return ()

    def derive(self, delivered: TraitSet, index: int, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        if index == 1 and self.kind in RIGHT_ORDER:
            return self._both_orders(delivered.collation, output, inputs) if output.unique_on(0, inputs[0].keys) else ()
        return left_offer(self.kind, delivered, index)

    def right_offered(self, offer: Collation, required: TraitSet, output: LogicalProps, inputs: Props) -> Iterator[Alternative]:
        """Ways in which the right rows of one left row come as they are offered, first by what that row determines."""
        if required.grouping:
            yield from self._offered_groups(offer, required.grouping, output, inputs)
        order = required.collation
        if not order or not output.closure(column_set([k.column for k in order[:-1]])) >> offer[0].column & 1:
            return
        for cut in range(1, len(order)):
            known = output.closure(column_set(k.column for k in order[:cut]))
            determined = next((n for n, key in enumerate(offer) if not known >> key.column & 1), len(offer))
            if determined:
                yield from self._both_orders(order[:cut] + offer[:determined] + order[cut:], output, inputs)

    def _offered_groups(self, offer: Collation, columns: ColumnSet, output: LogicalProps, inputs: Props) -> Iterator[Alternative]:
        left, right = inputs
        target, begun = output.closure(columns), 0
        if any(not key & ~target for key in left.keys):
            for key in offer:
                if not target >> key.column & 1:
                    break
                begun |= 1 << key.column
                way = begun | output.without_determined(target & right.columns, left.columns | begun)
                yield Alternative((ANY, grouped(way)), grouped(columns))

    def _right_groups(self, columns: ColumnSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        """Where rows equal on `columns` come of one left row, they are together if they are among the right rows. There they may
        also be grouped by a column that a join was on and that the left row determines."""
        left, right = inputs
        target = output.closure(columns)
        if not any(not key & ~target for key in left.keys):
            return ()
        whole = target & right.columns
        fewest = output.without_determined(whole, left.columns)
        joined = [same & -same for same in right.equivalences if same & whole & ~right.closure(fewest)]
        ways = dict.fromkeys((fewest, whole, *(fewest | column for column in joined)))
        return tuple(Alternative((ANY, grouped(way)), grouped(columns)) for way in ways if way)

    def describe(self, label: Label) -> str:
        return f"{_kind(self.kind, self.mark, label)} on {show_predicate(self.predicate, label)}"


def _kind(kind: JoinKind, mark: ColumnId | None, label: Label) -> str:
    return kind.value if mark is None else f"{kind.value} {label(mark)}"


def _show_join(kind: str, keys: Sequence[tuple[Scalar, Scalar]], residual: Predicate, label: Label, null_safe: int = 0) -> str:
    signs = ["IS NOT DISTINCT FROM" if null_safe >> i & 1 else "=" for i in range(len(keys))]
    text = f"{kind} on " + " AND ".join(f"{a.show(label)} {s} {b.show(label)}" for (a, b), s in zip(keys, signs, strict=True))
    return f"{text} where {show_predicate(residual, label)}" if residual else text
