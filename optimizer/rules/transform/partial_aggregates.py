"""Aggregates in two steps: partial aggregates of small groups, and final ones that make the whole of them.

    count(x) = sum of counts        sum(x) = sum of sums        min(x) = min of mins        avg(x) = sum of sums / sum of counts

and, for a value y that stands beside n rows which a partial step made one row:

    sum(y) over them = y · n        count(y) = n where y is not NULL        min(y), max(y): as they are

Types are those of the one-step aggregates: integers and decimals stay exact (a product y · n has digits enough for every
y and n), counts are added as exact numbers and cast back.
"""

from collections.abc import Hashable

import pyarrow as pa

from optimizer.algebra.aggregate_functions import AGGREGATE_FUNCTIONS
from optimizer.algebra.building import passed
from optimizer.algebra.columns import ColumnId
from optimizer.algebra.logical import Aggregate, AggregateItem, Project, ProjectItem
from optimizer.algebra.predicates import predicate_scalar
from optimizer.algebra.scalars import AggregateCall, Call, Case, Cast, ColumnRef, Literal, Scalar
from optimizer.algebra.trees import Tree
from optimizer.algebra.types import BOOLEAN, DOUBLE, INT64, MAX_PRECISION, integer_digits, is_decimal, is_float, is_integer
from optimizer.rules.interface import RuleContext

_COUNT_ROWS = AggregateCall("count", (), False, None, INT64)
_COUNT_DIGITS = 19
_EXACT_DIGITS = 28  # a sum of 10^10 decimals of so many digits has no more than 38


class TwoSteps:
    """Collects the partial and final aggregates of one grouping by `keys`.

    `below` tells what the partial groups are: by which keys, over which columns. With the same `keys` and `below` the same
    call gets the same columns each time.
    """

    def __init__(self, keys: tuple[ColumnId, ...], below: Hashable, context: RuleContext) -> None:
        self.keys, self.below, self.context = keys, below, context
        self.partials: dict[ColumnId, AggregateItem] = {}
        self._finals: dict[ColumnId, AggregateItem] = {}
        self._results: list[ProjectItem] = []

    def add(self, item: AggregateItem) -> bool:
        """An aggregate over the rows that the partial step groups. False where it cannot be taken apart."""
        call = item.call
        if not in_two_steps(call):
            return False
        if call.function == "count":
            self._result(item, self._count(self._total(self._partial(call))))
        elif call.function == "avg":
            total = self._partial(_call("sum", call.args[0], call.filter))
            number = self._partial(AggregateCall("count", call.args, False, call.filter, INT64))
            self._result(item, _quotient(self._total(total), self._total(number)))
        else:
            self._final(item, AggregateCall(call.function, (self._partial(call),), False, None, call.type))
        return True

    def add_beside(self, item: AggregateItem) -> bool:
        """An aggregate over rows beside which the partial step made n rows one. False where it cannot be computed."""
        call = item.call
        if call.volatile:
            return False
        if AGGREGATE_FUNCTIONS[call.function].duplicate_insensitive:
            self._final(item, call)
            return True
        if call.function not in ("count", "sum", "avg"):
            return False
        if call.distinct or not call.args or (call.raises and call.filter is not None):
            return False  # what raises may be sheltered by the filter, which would be tested beside it
        rows = self._partial(_COUNT_ROWS)
        value = call.args[0]
        present: Scalar = Call("is_not_null", (value,), BOOLEAN)
        if call.filter is not None:
            present = predicate_scalar((call.filter, present))
        counted = Case(((present, rows),), Literal(0, INT64), INT64)
        if call.function == "count":
            self._result(item, self._count(self._total(counted)))
            return True
        product = _times(value, rows)
        if product is None:
            return False
        if call.filter is not None:
            product = Case(((call.filter, product),), Literal(None, product.type), product.type)
        if call.function == "avg":
            self._result(item, _quotient(self._total(product), self._total(counted)))
        else:
            self._final(item, AggregateCall("sum", (product,), False, None, call.type))
        return True

    def lower(self, keys: tuple[ColumnId, ...]) -> Aggregate:
        """The partial step. One that only removes duplicates counts them all the same: by its columns a partial step is told
        from an aggregate of the query, and a count that nobody reads is not computed when the plan runs."""
        if not self.partials:
            self._partial(_COUNT_ROWS)
        return Aggregate(keys, tuple(self.partials.values()))

    def upper(self, below: Tree) -> Tree:
        """The final step over `below`, with the columns of the one-step aggregate."""
        final = Tree(Aggregate(self.keys, tuple(self._finals.values())), (below,))
        if all(isinstance(item.value, ColumnRef) for item in self._results):
            return final
        return Tree(Project((*passed(self.keys, self.context.columns), *self._results)), (final,))

    def _partial(self, call: AggregateCall) -> ColumnRef:
        item = partial_item(call, self.below, self.context)
        self.partials[item.id] = item
        return ColumnRef(item.id, call.type)

    def _final(self, item: AggregateItem, call: AggregateCall) -> None:
        self._finals[item.id] = AggregateItem(item.id, call)
        self._results.append(ProjectItem(item.id, ColumnRef(item.id, call.type)))

    def _result(self, item: AggregateItem, value: Scalar) -> None:
        self._results.append(ProjectItem(item.id, value))

    def _total(self, value: Scalar) -> ColumnRef:
        """The sum of `value` over the whole group, as a column of the final step."""
        call = _call("sum", value, None)
        column = self.context.columns.derived(("final", call, self.keys, self.below), "total", call.type, True)
        self._finals[column.id] = AggregateItem(column.id, call)
        return ColumnRef(column.id, column.type)

    def _count(self, total: ColumnRef) -> Scalar:
        """A total of counts as a count; over no rows, which only a grouping without keys can see, it is 0."""
        count = Cast(total, INT64, False)
        return count if self.keys else Call("coalesce", (count, Literal(0, INT64)), INT64)


def partial_item(call: AggregateCall, below: Hashable, context: RuleContext) -> AggregateItem:
    """A partial aggregate under a column of its own; `below` tells by which keys and over which columns it is."""
    column = context.columns.derived(("partial", call, below), f"partial_{call.function}", call.type, call.function != "count")
    return AggregateItem(column.id, call)


def may_overflow(call: AggregateCall) -> bool:
    """Whether a sum of part of the rows may need more than 38 digits though the whole sum does not."""
    if call.function not in ("sum", "avg") or not call.args:
        return False
    type = call.args[0].type
    return bool(pa.types.is_decimal(type) and type.precision > _EXACT_DIGITS)


def in_two_steps(call: AggregateCall) -> bool:
    """Whether an aggregate is the final one of partial ones: DISTINCT is not, but where it changes nothing."""
    known = AGGREGATE_FUNCTIONS[call.function]
    apart = known.two_steps or call.function in ("count", "avg")
    return apart and not call.volatile and (not call.distinct or known.duplicate_insensitive)


def _call(function: str, value: Scalar, condition: Scalar | None) -> AggregateCall:
    return AggregateCall(function, (value,), False, condition, AGGREGATE_FUNCTIONS[function].result(value.type))


def _quotient(total: Scalar, number: Scalar) -> Scalar:
    """Their mean, as avg gives it: of doubles, NULL over no values."""
    return Call("/", (_double(total), _double(number)), DOUBLE)


def _double(value: Scalar) -> Scalar:
    return value if value.type == DOUBLE else Cast(value, DOUBLE, False)


def _times(value: Scalar, rows: Scalar) -> Scalar | None:
    """value · rows, exact for exact numbers; None where a product may have more digits than a decimal holds."""
    if is_float(value.type):
        return Call("*", (_double(value), _double(rows)), DOUBLE)
    if is_integer(value.type):
        digits, scale = integer_digits(value.type), 0
    elif is_decimal(value.type):
        digits, scale = value.type.precision, value.type.scale
    else:
        return None
    if digits + _COUNT_DIGITS > MAX_PRECISION:
        return None
    factor = value if is_decimal(value.type) else Cast(value, pa.decimal128(digits, 0), False)
    number = Cast(rows, pa.decimal128(_COUNT_DIGITS, 0), False)
    return Call("*", (factor, number), pa.decimal128(digits + _COUNT_DIGITS, scale))
