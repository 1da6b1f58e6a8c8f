"""When one order or grouping gives another, against every small table there is.

What is known of the rows (keys, dependencies, constants, equal columns, NOT NULL) holds of every part of a table. An order is
refuted by two rows, a grouping by three. So a claim about three columns is true if and only if no table of two (three) rows that
is as it should be refutes it, and all of these tables are looked at: satisfaction is sound, and complete.
"""

from itertools import permutations, product
from random import Random

import numpy as np
import pytest

from optimizer.algebra.columns import column_ids, column_set
from optimizer.algebra.derive_props import united
from optimizer.algebra.props import Dependency, LogicalProps, merge_equivalences, minimal_keys
from optimizer.algebra.traits import (
    ANY,
    Collation,
    SortKey,
    TraitSet,
    group_order,
    grouped,
    grouping_spellings,
    reduce_grouping,
    reduce_traits,
    satisfies,
    spellings,
)

ALL = 0b111
NULL = 3
GROUPINGS = [grouped(columns) for columns in range(8)]


def random_props(random: Random) -> LogicalProps:
    """Something known of columns 0, 1 and 2."""

    def some(chance: float) -> int:
        return column_set(c for c in range(3) if random.random() < chance)

    dependencies = [Dependency(some(0.4), some(0.5)) for _ in range(random.choice([0, 0, 1, 2, 3]))]
    keys = minimal_keys(some(0.5) for _ in range(random.choice([0, 0, 0, 1, 2])))
    equivalences = merge_equivalences([some(0.4)]) if random.random() < 0.4 else ()
    constants = some(0.4) if random.random() < 0.3 else 0
    return LogicalProps(ALL, some(0.3), keys, constants, equivalences, united(dependencies))


def within(props: LogicalProps, columns: int) -> LogicalProps:
    """What `props` say of `columns` alone."""
    return LogicalProps(
        columns, props.not_null & columns, tuple(k for k in props.keys if not k & ~columns), props.constants & columns,
        merge_equivalences(m & columns for m in props.equivalences),
        tuple(d for d in props.dependencies if not (d.determinant | d.dependent) & ~columns),
    )  # fmt: skip


def tables_with(props: LogicalProps, rows: int, values: int) -> np.ndarray:
    """All tables of so many rows that are as `props` say: [table, row, column]; value 3 is NULL."""
    kinds = np.array(list(product(range(values), repeat=3)))
    for column in column_ids(props.not_null):
        kinds = kinds[kinds[:, column] != NULL]
    for members in props.equivalences:
        first, *others = column_ids(members)
        for other in others:
            kinds = kinds[kinds[:, first] == kinds[:, other]]
    picks = np.stack(np.meshgrid(*[np.arange(len(kinds))] * rows, indexing="ij"), -1).reshape(-1, rows)
    tables = kinds[picks]
    allowed = np.ones(len(tables), np.bool_)
    determined = [*props.dependencies, Dependency(0, props.constants)]
    for i in range(rows):
        for j in range(i):
            for determinant, dependent, _ in determined:
                allowed &= ~agree(tables, i, j, determinant) | agree(tables, i, j, dependent)
            for key in props.keys:
                allowed &= ~agree(tables, i, j, key)
    return tables[allowed]


def agree(tables: np.ndarray, i: int, j: int, columns: int) -> np.ndarray:
    """In which tables rows i and j are equal on the columns, NULL being a value."""
    ids = list(column_ids(columns))
    return (tables[:, i][:, ids] == tables[:, j][:, ids]).all(axis=1)


def has(tables: np.ndarray, traits: TraitSet) -> np.ndarray:
    """Which tables come in the order, or have equal rows together."""
    rows = tables.shape[1]
    good = np.ones(len(tables), np.bool_)
    for i in range(1, rows):
        if traits.collation:
            good &= not_after(tables[:, i - 1], tables[:, i], traits.collation)
        for j in range(i - 1):
            apart = agree(tables, i, j, traits.grouping) & ~agree(tables, i, i - 1, traits.grouping)
            good &= ~apart
    return good


def not_after(first: np.ndarray, second: np.ndarray, order: Collation) -> np.ndarray:
    decided = np.zeros(len(first), np.bool_)
    good = np.ones(len(first), np.bool_)
    for key in order:
        a, b = (rank(row[:, key.column], key) for row in (first, second))
        good &= decided | (a <= b)
        decided |= a != b
    return good


def rank(values: np.ndarray, key: SortKey) -> np.ndarray:
    ranks = -values if key.descending else values
    return np.where(values == NULL, -100 if key.nulls_first else 100, ranks)


def orders(random: Random, plain: bool = False) -> list[Collation]:
    """Every list of different columns; directions and NULLs at random, but the same column often alike."""
    flags = {c: (random.random() < 0.4, random.random() < 0.4) for c in range(3)}
    found = []
    for size in range(4):
        for columns in permutations(range(3), size):
            keys = []
            for c in columns:
                descending, first = flags[c]
                if not plain and random.random() < 0.15:
                    first = not first
                keys.append(SortKey(c) if plain else SortKey(c, descending, first))
            found.append(tuple(keys))
    return found


def check_claims(seed: int, props: LogicalProps, tables: np.ndarray, given: list[TraitSet], asked: list[TraitSet]) -> None:
    """Of every two traits, one satisfies the other exactly when each of the tables that has the one has the other."""
    held = {traits: has(tables, traits) for traits in {*given, *asked}}
    for one, other in product(given, asked):
        truth = bool((~held[one] | held[other]).all())
        claim = satisfies(one, other, props)
        assert claim == truth, f"seed {seed}: {one.show(str)} gives {other.show(str)}: {truth}, not {claim}"


@pytest.mark.parametrize("part", range(4))
def test_an_order_satisfies_another_if_and_only_if_no_two_rows_refute_it(part: int) -> None:
    for seed in range(200 * part, 200 * part + 200):
        random = Random(seed)
        props = random_props(random)
        given, asked = ([TraitSet(order) for order in orders(random)] for _ in range(2))
        check_claims(seed, props, tables_with(props, 2, 4), given, asked)


@pytest.mark.parametrize("part", range(4))
def test_a_grouping_is_satisfied_if_and_only_if_no_three_rows_refute_it(part: int) -> None:
    for seed in range(75 * part, 75 * part + 75):
        random = Random(seed)
        props = random_props(random)
        props.not_null = 0
        given = [TraitSet(order) for order in orders(random, plain=True)]
        check_claims(seed, props, tables_with(props, 3, 3), given + GROUPINGS, GROUPINGS)


def test_reduced_traits_mean_the_same_and_are_the_same_for_all_that_do() -> None:
    for seed in range(300):
        random = Random(seed)
        props = random_props(random)
        for traits in [TraitSet(order) for order in orders(random)] + GROUPINGS:
            reduced = reduce_traits(traits, props)
            assert satisfies(traits, reduced, props)
            assert satisfies(reduced, traits, props)
            assert reduce_traits(reduced, props) == reduced
        for a, b in product(GROUPINGS, repeat=2):
            if satisfies(a, b, props) and satisfies(b, a, props):
                assert reduce_traits(a, props) == reduce_traits(b, props), f"seed {seed}: {a} and {b}"


def test_sorting_on_a_grouping_groups() -> None:
    for seed in range(200):
        props = random_props(Random(seed))
        for columns in range(8):
            reduced = reduce_grouping(columns, props)
            assert satisfies(TraitSet(group_order(reduced)), grouped(columns), props)


def test_what_is_asked_of_an_input_gives_the_traits_above_it() -> None:
    """Spellings below an operator that makes columns equal, or tells more about them, mean the same above it."""
    asked = 0
    for seed in range(300):
        random = Random(seed)
        available = random.choice([ALL, 0b110, 0b101, 0b011])
        inner = within(random_props(random), available)
        more = random_props(random)
        outer = LogicalProps(
            ALL, inner.not_null | more.not_null, minimal_keys(inner.keys + more.keys), inner.constants | more.constants,
            merge_equivalences(inner.equivalences + more.equivalences), united(inner.dependencies + more.dependencies),
        )  # fmt: skip
        for columns in range(1, 8):
            wanted = reduce_grouping(columns, outer)
            for way in grouping_spellings(wanted, available, outer, inner):
                asked += 1
                assert not way & ~available
                assert satisfies(grouped(way), grouped(columns), outer), f"seed {seed}: {way:b} for {columns:b}"
        for order in orders(random):
            for way in spellings(order, available, outer, inner):
                assert not column_set(k.column for k in way) & ~available
                assert satisfies(TraitSet(way), TraitSet(order), outer)
    assert asked > 1000


def test_traits_are_shown_by_name() -> None:
    assert ANY.show(str) == "any"
    assert TraitSet((SortKey(1), SortKey(0, True, True))).show(str) == "order(1, 0 desc nulls first)"
    assert grouped(0b101).show(str) == "group(0, 2)"
    assert grouped(0) == ANY
