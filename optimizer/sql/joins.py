"""JOIN in all kinds, with ON, USING or NATURAL.

A column merged by USING means the left one, for RIGHT JOIN the right one, for FULL JOIN whichever is not NULL. The right
side may refer to the left, with or without the word LATERAL.
"""

from typing import Any, NamedTuple

from optimizer.algebra.columns import union
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Filter
from optimizer.algebra.logical_joins import Apply, Join
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.scalar_trees import as_outer
from optimizer.algebra.scalars import Call, Predicate, Scalar
from optimizer.algebra.subqueries import has_subquery, subqueries_of
from optimizer.algebra.trees import Tree
from optimizer.sql.coerce import Operand
from optimizer.sql.comparisons import comparison
from optimizer.sql.context import Context
from optimizer.sql.expressions import ExpressionBinder
from optimizer.sql.scope import Scope, Visible
from optimizer.sql.source import listing

_KINDS = {
    ("", ""): JoinKind.INNER,
    ("", "INNER"): JoinKind.INNER,
    ("", "CROSS"): JoinKind.INNER,
    **{(side, word): JoinKind[side] for side in ("LEFT", "RIGHT", "FULL") for word in ("", "OUTER")},
    ("", "SEMI"): JoinKind.SEMI,
    ("", "ANTI"): JoinKind.ANTI,
}


class FromItem(NamedTuple):
    """Part of a FROM clause: its rows, and the names they go by."""

    tree: Tree
    scope: Scope


def cross(context: Context, left: FromItem, right: FromItem, node: Any) -> FromItem:
    """All pairs; `node` is the right one, which may refer to the left."""
    return FromItem(_tree(context, JoinKind.INNER, (), left, right, node), left.scope.beside(right.scope))


def _tree(context: Context, kind: JoinKind, predicate: Predicate, left: FromItem, right: FromItem, node: Any) -> Tree:
    """The join; an Apply when the right side reads columns of the left (LATERAL).

    A subquery in the condition of an Apply moves into its right side, as a filter of the rows that could match.
    """
    if not right.tree.outer & left.tree.columns:
        return Tree(Join(kind, predicate), (left.tree, right.tree))
    context.check_run_again(right.tree, None, node)
    if kind not in (JoinKind.INNER, JoinKind.LEFT):
        raise context.source.unsupported(
            f"{kind.value.upper()} JOIN with a right side that refers to the left (LATERAL)", node, "use JOIN or LEFT JOIN"
        )
    if not any(has_subquery(conjunct) for conjunct in predicate):
        return Tree(Apply(kind, predicate), (left.tree, right.tree))
    inside = conjunction(as_outer(s, left.tree.columns) for s in predicate)
    return Tree(Apply(kind, ()), (left.tree, Tree(Filter(inside), (right.tree,))))


def join(context: Context, left: FromItem, right: FromItem, node: Any) -> FromItem:
    """`left` joined with `right` as the AST node says."""
    source = context.source
    method, side, word = (str(node.args.get(k) or "").upper() for k in ("method", "side", "kind"))
    kind = _KINDS.get((side, word))
    if kind is None or method not in ("", "NATURAL"):
        form = " ".join(filter(None, (method, side, word, "JOIN")))
        raise source.unsupported(form, node.this, "the joins are INNER, LEFT, RIGHT, FULL, CROSS, SEMI and ANTI")
    source.only(node, "this", "method", "side", "kind", "on", "using")
    on, using = node.args.get("on"), node.args.get("using")
    both = left.scope.beside(right.scope)
    binder = ExpressionBinder(context, both, "ON")
    predicate: Predicate = ()
    scope = both
    if word == "CROSS" and (using or on is not None):
        taken, at = ("USING", using[0]) if using else ("ON", on)
        raise source.error(f"CROSS JOIN takes no {taken}", at, f"write JOIN ... {taken}")
    if method == "NATURAL" or using:
        if on is not None:
            raise source.error("a join takes ON or USING, not both", on)
        names = _natural(context, left.scope, right.scope, node) if method == "NATURAL" else [(i.name, i) for i in using]
        predicate, scope = _using(context, binder, kind, left.scope, right.scope, names)
    elif on is None and word != "CROSS":
        raise source.error("the join has no condition", node.this, "add ON or USING, or write CROSS JOIN")
    elif on is not None:
        predicate = conjunction([binder.truth(on)])
        volatile = left.tree.volatile or right.tree.volatile or any(s.volatile for s in predicate)
        reads = [union(part.columns for part in subqueries_of([s])) for s in predicate]  # one that reads both copies both sides
        if kind is JoinKind.FULL and volatile and any(r & left.tree.columns and r & right.tree.columns for r in reads):
            raise source.unsupported("a FULL JOIN with a subquery in ON and a volatile function", on, "use JOIN or LEFT JOIN")
    if kind.left_only:
        scope = left.scope
    return FromItem(_tree(context, kind, predicate, left, right, node.this), scope)


def _natural(context: Context, left: Scope, right: Scope, node: Any) -> list[tuple[str, Any]]:
    here = {v.name.lower() for v in right.visible}
    names = dict.fromkeys(v.name for v in left.visible if v.name.lower() in here)
    if not names:
        raise context.source.error(
            "NATURAL JOIN finds no column of the same name on both sides",
            node.this,
            f"the left has {listing([v.name for v in left.visible])}, the right {listing([v.name for v in right.visible])}",
        )
    return [(name, node.this) for name in names]


def _using(
    context: Context, binder: ExpressionBinder, kind: JoinKind, left: Scope, right: Scope, names: list[tuple[str, Any]]
) -> tuple[Predicate, Scope]:
    """The equalities, and the scope in which each pair of columns has become one."""
    equalities: list[Scalar] = []
    merged: dict[str, Visible] = {}
    for name, node in names:
        if name.lower() in merged:
            continue
        a, b = (_only_meaning(context, scope, name, node, side) for scope, side in ((left, "left"), (right, "right")))
        operands = Operand(context.bare_null(a.scalar), node), Operand(context.bare_null(b.scalar), node)
        equalities.append(comparison(binder, "=", *operands))
        value = b.scalar if kind is JoinKind.RIGHT else a.scalar
        if kind is JoinKind.FULL:
            scalars, type = binder.meet(operands, "USING cannot merge", strings_yield=True)
            value = Call("coalesce", tuple(scalars), type)
        merged[name.lower()] = Visible(a.name, value, a.owners + b.owners)
    visible = tuple(merged.get(v.name.lower(), v) for v in left.visible)
    rest = tuple(v for v in right.visible if v.name.lower() not in merged)
    return conjunction(equalities), Scope(left.relations + right.relations, visible + rest, left.ctes)


def _only_meaning(context: Context, scope: Scope, name: str, node: Any, side: str) -> Visible:
    found = scope.meanings(name)
    if len(found) == 1:
        return found[0]
    if found:
        owners = sorted({o for v in found for o in v.owners})
        raise context.source.error(
            f'column "{name}" is ambiguous on the {side} side of the join', node, f"it is in {listing(owners)}"
        )
    known = [v.name for v in scope.visible]
    hint = f"that side has {listing(known, near=name)}"
    raise context.source.error(f'unknown column "{name}" on the {side} side of the join', node, hint)
