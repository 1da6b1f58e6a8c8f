"""What `join_separate_sides` makes of a comparison has its value for all rows within the bounds, NULLs and ends too."""

from collections import Counter
from datetime import date, datetime, timedelta
from random import Random
from typing import Any

import pytest

from optimizer.algebra import Columns, Join, JoinKind, Scan, ScanColumn, Tree, compare, predicate_scalar
from optimizer.algebra.evaluate import evaluate
from optimizer.algebra.scalars import Call, Cast, ColumnRef, Literal, Scalar
from optimizer.algebra.types import DATE, INT32, INT64, TIMESTAMP
from optimizer.errors import ExecutionError
from optimizer.prepass.rules.arithmetic_within_bounds import arithmetic_within_bounds
from optimizer.prepass.rules.join_separate_sides import join_separate_sides
from optimizer.rules.interface import RuleContext
from optimizer.settings import DEFAULTS

TYPES = [INT32, INT32, INT64, DATE, TIMESTAMP]
HALF = len(TYPES)  # the columns of the left input come first
MOMENTS = 0b11000_11000


def some_bounds(random: Random, type: Any) -> tuple[Any, Any]:
    if type == DATE:
        first = random.choice([date(2020, 2, 27), date(1, 1, 1), date(9999, 12, 20)])
        return first, first + timedelta(days=random.choice([0, 3, 11]))
    if type == TIMESTAMP:
        first = random.choice([datetime(2020, 2, 27), datetime(1, 1, 1), datetime(9999, 12, 30)])
        return first, first + timedelta(microseconds=random.choice([0, 3, 10**9]))
    most = (1 << type.bit_width - 1) - 1
    low = random.choice([-most - 1, -7, -2, 0, 1, most - 6, most // 2])
    return low, min(most, low + random.choice([0, 1, 5, 9]))


def sum_of(random: Random, refs: list[ColumnRef], type: Any, depth: int) -> Scalar:
    form = (
        random.choice(["+", "-", "+", "-", "neg", "abs", "ref", "literal"]) if depth else random.choice(["ref", "ref", "literal"])
    )
    match form:
        case "+" | "-":
            return Call(form, (sum_of(random, refs, type, depth - 1), sum_of(random, refs, type, depth - 1)), type)
        case "neg" | "abs":
            return Call(form, (sum_of(random, refs, type, depth - 1),), type)
        case "literal":
            return Literal(random.choice([0, 1, 2, -3, 10, 2**31 - 1]), type)
    column = random.choice([ref for ref in refs if ref.type in (INT32, type)])
    return column if column.type == type else Cast(column, type, False)


def comparison(random: Random, refs: list[ColumnRef]) -> Scalar:
    function = random.choice(["=", "<", "<=", ">", ">=", "<>"])
    if random.random() < 0.3:
        kind, unit = random.choice([(DATE, "date_diff_days"), (TIMESTAMP, "microseconds_between")])
        moments = tuple(random.sample([ref for ref in refs if ref.type == kind], 2))
        apart: Scalar = Call(unit, moments, INT64)
        if random.random() < 0.5:
            parts = [apart, Literal(random.randrange(-3, 4), INT64)]
            apart = Call(random.choice(["+", "-"]), tuple(random.sample(parts, 2)), INT64)
        return compare(function, apart, Literal(random.choice([0, 1, -1, 3, -11, 10**9, -(10**9)]), INT64))
    type = random.choice([INT32, INT64])
    if random.random() < 0.3:
        return compare(function, Call("abs", (sum_of(random, refs, type, 2),), type), Literal(random.randrange(-2, 6), type))
    return compare(
        function, sum_of(random, refs, type, random.choice([1, 2])), sum_of(random, refs, type, random.choice([0, 1, 2]))
    )


def within(random: Random, low: Any, high: Any) -> Any:
    if random.random() < 0.15:
        return None
    if random.random() < 0.4:
        return random.choice([low, high])
    if isinstance(low, int):
        return random.randint(low, high)
    unit = timedelta(microseconds=1) if isinstance(low, datetime) else timedelta(days=1)
    return low + unit * random.randint(0, (high - low) // unit)


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(4))
def test_the_values_are_the_same(seed: int) -> None:
    random, fired, true = Random(seed), Counter[str](), 0
    for _ in range(3000):
        columns = Columns()
        refs = [ColumnRef(columns.new(f"c{i}", type, True).id, type) for i, type in enumerate(TYPES * 2)]
        bounds = {f"c{ref.id}": some_bounds(random, ref.type) for ref in refs}
        context = RuleContext(columns, DEFAULTS, bounds=lambda _, column, known=bounds: known[column])
        inputs = [
            Tree(Scan(n, n, tuple(ScanColumn(r.id, f"c{r.id}") for r in half)))
            for n, half in (("l", refs[:HALF]), ("r", refs[HALF:]))
        ]
        before = Tree(Join(JoinKind.INNER, (comparison(random, refs),)), tuple(inputs))
        marked = arithmetic_within_bounds.apply(before, context) or before
        after = join_separate_sides.apply(marked, context)
        if after is None:
            continue
        form = "moments" if before.op.scalars()[0].columns & MOMENTS else "sums"
        fired["abs" if len(after.op.scalars()) > 1 else form] += 1
        for _ in range(12):
            row = {ref.id: within(random, *bounds[f"c{ref.id}"]) for ref in refs}
            expected = evaluate(predicate_scalar(before.op.scalars()), row)  # raises nothing, or the rule had no right to fire
            found = evaluate(predicate_scalar(after.op.scalars()), row)
            assert found is expected, f"{before.op.scalars()} is {expected}, {after.op.scalars()} {found}, of {row}"
            true += expected is True
        assert join_separate_sides.apply(after, context) is None
    assert min(fired["abs"], fired["moments"], fired["sums"]) > 8 and true > 300, fired


def test_without_bounds_nothing_is_done() -> None:
    columns = Columns()
    a, b = (ColumnRef(columns.new(name, INT64, True).id, INT64) for name in "ab")
    scans = tuple(Tree(Scan(n, n, (ScanColumn(r.id, n),))) for n, r in (("a", a), ("b", b)))
    tree = Tree(Join(JoinKind.INNER, (compare("=", Call("-", (a, b), INT64), Literal(1, INT64)),)), scans)
    assert join_separate_sides.apply(tree, RuleContext(columns, DEFAULTS)) is None
    with pytest.raises(ExecutionError):
        evaluate(tree.op.scalars()[0], {a.id: 2**63 - 1, b.id: -1})


def test_a_constant_that_is_no_number_of_the_type_is_not_made() -> None:
    columns = Columns()
    a, b = (ColumnRef(columns.new(name, INT32, True).id, INT32) for name in "ab")
    scans = tuple(Tree(Scan(n, n, (ScanColumn(r.id, n),))) for n, r in (("a", a), ("b", b)))
    far = Call("-", (Call("-", (a, Literal(2**31 - 1, INT32)), INT32), Literal(5, INT32)), INT32)
    near = Call("+", (far, b), INT32)
    tree = Tree(Join(JoinKind.INNER, (compare("<", near, Literal(0, INT32)),)), scans)
    context = RuleContext(columns, DEFAULTS, bounds=lambda table, _: (8, 10) if table == "a" else (10, 20))
    marked = arithmetic_within_bounds.apply(tree, context)
    assert marked is not None and not marked.op.scalars()[0].raises
    assert join_separate_sides.apply(marked, context) is None
