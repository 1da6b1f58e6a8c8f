"""Every entry of the tables, by execution on all small bags: where it says yes, rows are the same; where no, some differ."""

from collections.abc import Iterator
from itertools import product

import pytest

from optimizer.algebra import JoinKind, Predicate, Scalar, conjunction
from optimizer.algebra.nulls import rejects_nulls
from optimizer.joins.reorderability import ASSOC, L_ASSCOM, R_ASSCOM, Condition, Table
from tests.joins.bags import ANTI, FULL, INNER, LEFT, SEMI, Bag, Evaluator, absent, call, equal, present, x

KINDS = (INNER, SEMI, ANTI, LEFT, FULL)
HIDING = (SEMI, ANTI)
TABLES = {"assoc": ASSOC, "l_asscom": L_ASSCOM, "r_asscom": R_ASSCOM}
READS = {"assoc": ((1, 2), (2, 3)), "l_asscom": ((1, 2), (1, 3)), "r_asscom": ((1, 3), (2, 3))}  # inputs that a and b read

# (what it is, the predicate over relations i and j)
FORMS = ("both", "first", "second", "neither", "equal nulls")
VALUES = [(), (None,), (1,), (1, 2), (1, 1, None)]


def form(name: str, i: int, j: int) -> Predicate:
    """A predicate that rejects NULLs on i and j, or on the first or second only, or on neither."""
    options: dict[str, tuple[Scalar, ...]] = {
        "both": (equal(i, j),), "first": (call("or", equal(i, j), absent(j)), present(i)),
        "second": (call("or", equal(i, j), absent(i)), present(j)), "neither": (call("or", equal(i, j), absent(i), absent(j)),),
        "equal nulls": (call("is_not_distinct_from", x(i), x(j)),),
    }  # fmt: skip
    return conjunction(options[name])


def rejected(name: str, inputs: tuple[int, int]) -> set[int]:
    found = {"both": set(inputs), "first": {inputs[0]}, "second": {inputs[1]}}.get(name, set())
    for e in inputs:
        columns = 0b11 << 2 * (e - 1)
        assert rejects_nulls(form(name, inputs[0] - 1, inputs[1] - 1), columns) == (e in found)
    return found


def meaningful(table: str, a: JoinKind, b: JoinKind) -> bool:
    """Whether both sides of the property can be written: nothing reads what a semi or anti join has hidden."""
    if table == "assoc":
        return a not in HIDING
    return table == "l_asscom" or (a not in HIDING and b not in HIDING)


ENTRIES = [(t, a, b) for t in TABLES for a in KINDS for b in KINDS if meaningful(t, a, b)]


def differences(table: str, a: JoinKind, b: JoinKind, forms: tuple[str, str]) -> Iterator[bool]:
    """Whether the two sides differ, for all bags of VALUES."""
    evaluator = Evaluator(3)
    (a_reads, b_reads) = READS[table]
    p, q = form(forms[0], a_reads[0] - 1, a_reads[1] - 1), form(forms[1], b_reads[0] - 1, b_reads[1] - 1)
    bags = [[evaluator.relation(i, v) for v in VALUES] for i in range(3)]

    def op_a(left: Bag, right: Bag) -> Bag:
        return evaluator.join(a, p, left, right)

    def op_b(left: Bag, right: Bag) -> Bag:
        return evaluator.join(b, q, left, right)

    for e1, e2, e3 in product(*bags):
        if table == "assoc":
            yield op_b(op_a(e1, e2), e3) != op_a(e1, op_b(e2, e3))
        elif table == "l_asscom":
            yield op_b(op_a(e1, e2), e3) != op_a(op_b(e1, e3), e2)
        else:
            yield op_a(e1, op_b(e2, e3)) != op_b(e2, op_a(e1, e3))


def unmet(condition: Condition, table: str, forms: tuple[str, str]) -> list[int]:
    """Parts of the condition, by number, that predicates of these forms do not meet."""
    sets = {"a": rejected(forms[0], READS[table][0]), "b": rejected(forms[1], READS[table][1])}
    return [k for k, part in enumerate(condition) if part.on not in sets[part.of]]


@pytest.mark.parametrize(("table", "a", "b"), ENTRIES, ids=lambda v: v if isinstance(v, str) else v.value)
def test_entry(table: str, a: JoinKind, b: JoinKind) -> None:
    condition = TABLES[table].get((a, b))
    failing: dict[tuple[int, ...], bool] = {}  # unmet parts of the condition -> a difference was found
    for forms in product(FORMS, FORMS):
        missing = () if condition is None else tuple(unmet(condition, table, forms))
        if condition is not None and not missing:
            assert not any(differences(table, a, b, forms)), f"{table}({a}, {b}) with {forms} changes the rows"
        elif not failing.get(missing):
            failing[missing] = any(differences(table, a, b, forms))
    if condition is None:
        assert failing[()], f"{table}({a}, {b}) never changed the rows: the table could say yes"
    for k in range(len(condition or ())):
        assert failing[(k,)], f"{table}({a}, {b}) does not need part {k} of its condition"


def test_entries_without_meaning_say_never() -> None:
    for name, table in TABLES.items():
        for pair in table:
            assert meaningful(name, *pair), f"{name} has an entry for {pair}"


def test_symmetric_tables() -> None:
    """l_asscom and r_asscom read the same from either side: a condition on a becomes one on b."""

    def mirrored(table: Table) -> dict[tuple[JoinKind, JoinKind], set[tuple[str, int]]]:
        other = {"a": "b", "b": "a"}
        return {(b, a): {(other[part.of], part.on) for part in condition} for (a, b), condition in table.items()}

    for table in (L_ASSCOM, R_ASSCOM):
        assert mirrored(table) == {pair: set(map(tuple, condition)) for pair, condition in table.items()}
