"""The core search space by brute force: every tree that an initial join tree can be rewritten into, one step at a time.

Steps are commutativity of inner and full joins, associativity, left and right asscommutativity, as the tables of Moerkotte,
Fender and Eich (SIGMOD 2013) allow them; no step makes a cross product. Nothing here is shared with the rules: whether a
predicate rejects NULLs is found by trying all values.

    assoc      (e1 a e2) b e3  ≡  e1 a (e2 b e3)
    l-asscom   (e1 a e2) b e3  ≡  (e1 b e3) a e2
    r-asscom   e1 a (e2 b e3)  ≡  e2 b (e1 a e3)
"""

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import TypeAlias

from optimizer.algebra import ColumnSet, Join, JoinKind, Predicate, Scan, Tree, column_ids, predicate_columns
from optimizer.algebra.evaluate import holds
from optimizer.memo.memo import Memo

# a tree: the columns of a leaf, or a join of two trees
Plan: TypeAlias = "ColumnSet | tuple[JoinKind, Predicate, Plan, Plan]"

J, S, A, L, F = JoinKind.INNER, JoinKind.SEMI, JoinKind.ANTI, JoinKind.LEFT, JoinKind.FULL
ASSOC = {(J, J): "", (J, S): "", (J, A): "", (J, L): "", (L, L): "b2", (F, L): "b2", (F, F): "a2 b2"}
L_ASSCOM = {**{(a, b): "" for a in (J, S, A, L) for b in (J, S, A, L)}, (L, F): "a1", (F, L): "b1", (F, F): "a1 b1"}
R_ASSCOM = {(J, J): "", (F, F): "a3 b3"}


def plan_of(tree: Tree) -> Plan:
    if isinstance(tree.op, Scan):
        return tree.columns
    assert isinstance(tree.op, Join)
    left, right = (plan_of(i) for i in tree.inputs if isinstance(i, Tree))
    if tree.op.kind is JoinKind.RIGHT:
        return (L, tree.op.predicate, right, left)
    return (tree.op.kind, tree.op.predicate, left, right)


def closure(start: Plan) -> set[Plan]:
    """All plans reachable from `start`, inner and full joins with their inputs in one order only."""
    found = {normal(start)}
    work = list(found)
    while work:
        for plan in steps(work.pop()):
            plan = normal(plan)
            if plan not in found:
                found.add(plan)
                work.append(plan)
    return found


@cache
def relations(plan: Plan) -> ColumnSet:
    """Columns of all tables in the plan, also of those that semi and anti joins hide."""
    return plan if isinstance(plan, int) else relations(plan[2]) | relations(plan[3])


@cache
def normal(plan: Plan) -> Plan:
    if isinstance(plan, int):
        return plan
    kind, predicate, left, right = plan
    left, right = normal(left), normal(right)
    if kind in (J, F) and relations(left) > relations(right):
        left, right = right, left
    return (kind, predicate, left, right)


@cache
def steps(plan: Plan) -> tuple[Plan, ...]:
    """Every plan one step away, at the root or below."""
    if isinstance(plan, int):
        return ()
    kind, predicate, left, right = plan
    below = [(kind, predicate, other, right) for other in steps(left)]
    below += [(kind, predicate, left, other) for other in steps(right)]
    return (*below, *at_root(plan))


def at_root(plan: Plan) -> Iterator[Plan]:
    for root in mirrored(plan):
        b, q, x, e3 = root
        for a, p, e1, e2 in mirrored(x):
            if allowed(ASSOC, a, p, b, q, e1, e2, e3) and joins(q, e2, e3):
                yield (a, p, e1, (b, q, e2, e3))
            if allowed(L_ASSCOM, a, p, b, q, e1, e2, e3) and joins(q, e1, e3):
                yield (a, p, (b, q, e1, e3), e2)
        a, p, e1, y = root
        for b, q, e2, e3 in mirrored(y):
            if allowed(ASSOC, a, p, b, q, e1, e2, e3) and joins(p, e1, e2):
                yield (b, q, (a, p, e1, e2), e3)
            if allowed(R_ASSCOM, a, p, b, q, e1, e2, e3) and joins(p, e1, e3):
                yield (b, q, e2, (a, p, e1, e3))


def mirrored(plan: Plan) -> Iterator[tuple[JoinKind, Predicate, Plan, Plan]]:
    if not isinstance(plan, int):
        yield plan
        if plan[0] in (J, F):
            yield (plan[0], plan[1], plan[3], plan[2])


def joins(predicate: Predicate, left: Plan, right: Plan) -> bool:
    columns = predicate_columns(predicate)
    a, b = relations(left), relations(right)
    return bool(columns & a and columns & b) and not columns & ~(a | b)


def allowed(
    table: dict[tuple[JoinKind, JoinKind], str], a: JoinKind, p: Predicate, b: JoinKind, q: Predicate, *parts: Plan
) -> bool:
    conditions = table.get((a, b))
    if conditions is None:
        return False
    return all(
        rejects({"a": p, "b": q}[condition[0]], relations(parts[int(condition[1]) - 1])) for condition in conditions.split()
    )


@cache
def rejects(predicate: Predicate, columns: ColumnSet) -> bool:
    """Never TRUE when all of `columns` are NULL, by trying all values of the others."""
    read = list(column_ids(predicate_columns(predicate)))
    choices = [(None,) if columns >> c & 1 else (None, 0, 1) for c in read]
    return not any(holds(predicate, dict(zip(read, values, strict=True))) for values in product(*choices))


def plans_of_memo(memo: Memo, root: int) -> set[Plan]:
    """Every plan of a group made of joins and scans. Right joins are left out: each is the mirror image of a left one."""
    known: dict[int, set[Plan]] = {}

    def plans(gid: int) -> set[Plan]:
        gid = memo.find(gid)
        if gid not in known:
            known[gid] = set()
            for mexpr in memo.group(gid).logical:
                if isinstance(mexpr.op, Scan):
                    known[gid].add(memo.group(gid).props.columns)
                elif isinstance(mexpr.op, Join) and mexpr.op.kind is not JoinKind.RIGHT:
                    known[gid] |= {
                        normal((mexpr.op.kind, mexpr.op.predicate, left, right))
                        for left in plans(mexpr.inputs[0])
                        for right in plans(mexpr.inputs[1])
                    }
        return known[gid]

    return plans(root)
