"""Which pairs of joins may change places: three properties of two operators a, b over three inputs.

    assoc(a, b)       (e1 ∘a e2) ∘b e3  ≡  e1 ∘a (e2 ∘b e3)        a reads e1 and e2, b reads e2 and e3
    l_asscom(a, b)    (e1 ∘a e2) ∘b e3  ≡  (e1 ∘b e3) ∘a e2        a reads e1 and e2, b reads e1 and e3
    r_asscom(a, b)    e1 ∘a (e2 ∘b e3)  ≡  e2 ∘b (e1 ∘a e3)        a reads e1 and e3, b reads e2 and e3

Each holds always, never, or on the condition that predicates reject NULLs on an input: are never TRUE when all columns of
the input are NULL. For that it is enough that they are never TRUE when those of some of its relations are.

Right joins have no entry: they are left joins with their inputs exchanged. Where a semi or anti join hides what the other
operator would have to read, the property has no meaning and the entry says never.

Source  Moerkotte, Fender and Eich, On the Correct and Complete Enumeration of the Core Search Space, SIGMOD 2013. The condition
of l_asscom(full, left) is on e1, the side the full join extends; with a condition on e3 instead, rows differ (see the tests).
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from optimizer.algebra.kinds import JoinKind
from optimizer.joins.graph import Relations


class Reorderable(Protocol):
    """A join, not of kind RIGHT. `rejects`: sets of relations; its predicate is never TRUE when all columns of one are NULL."""

    @property
    def kind(self) -> JoinKind: ...

    @property
    def rejects(self) -> tuple[Relations, ...]: ...


class Rejects(NamedTuple):
    """The predicate of operator `of` ("a" or "b") rejects NULLs on input `on` (1, 2, 3)."""

    of: str
    on: int


Condition = tuple[Rejects, ...]  # all of them; the empty one always holds
Table = Mapping[tuple[JoinKind, JoinKind], Condition]  # a pair without an entry never holds

CONDITIONS: dict[str, Condition] = {
    "+": (),
    "c1": (Rejects("b", 2),),
    "c2": (Rejects("a", 2), Rejects("b", 2)),
    "c3": (Rejects("a", 1),),
    "c4": (Rejects("b", 1),),
    "c5": (Rejects("a", 1), Rejects("b", 1)),
    "c6": (Rejects("a", 3), Rejects("b", 3)),
}


def _table(text: str) -> Table:
    """Rows are kinds of a, columns kinds of b; `-` is never."""
    header, *rows = (line.split() for line in text.strip().splitlines())
    kinds = [JoinKind(name) for name in header]
    table = {}
    for name, *cells in rows:
        for kind, cell in zip(kinds, cells, strict=True):
            if cell != "-":
                table[JoinKind(name), kind] = CONDITIONS[cell]
    return table


ASSOC = _table("""
        inner  semi  anti  left  full
inner   +      +     +     +     -
semi    -      -     -     -     -
anti    -      -     -     -     -
left    -      -     -     c1    -
full    -      -     -     c1    c2
""")

L_ASSCOM = _table("""
        inner  semi  anti  left  full
inner   +      +     +     +     -
semi    +      +     +     +     -
anti    +      +     +     +     -
left    +      +     +     +     c3
full    -      -     -     c4    c5
""")

R_ASSCOM = _table("""
        inner  semi  anti  left  full
inner   +      -     -     -     -
semi    -      -     -     -     -
anti    -      -     -     -     -
left    -      -     -     -     -
full    -      -     -     -     c6
""")


def holds(table: Table, a: Reorderable, b: Reorderable, e1: Relations, e2: Relations, e3: Relations) -> bool:
    """Whether the property of `table` holds of two operators over inputs with these relations."""
    condition = table.get((a.kind, b.kind))
    if condition is None:
        return False
    outside = (0, ~e1, ~e2, ~e3)
    return all(any(not s & outside[part.on] for s in (a if part.of == "a" else b).rejects) for part in condition)


def assoc(a: Reorderable, b: Reorderable, e1: Relations, e2: Relations, e3: Relations) -> bool:
    return holds(ASSOC, a, b, e1, e2, e3)


def l_asscom(a: Reorderable, b: Reorderable, e1: Relations, e2: Relations, e3: Relations) -> bool:
    return holds(L_ASSCOM, a, b, e1, e2, e3)


def r_asscom(a: Reorderable, b: Reorderable, e1: Relations, e2: Relations, e3: Relations) -> bool:
    return holds(R_ASSCOM, a, b, e1, e2, e3)
