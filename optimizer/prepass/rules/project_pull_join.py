"""A projection between two joins moves above both, so that the joins meet and can be reordered together.

    πe(A ⋈q B) ⋈p C  ≡  πe,C((A ⋈q B) ⋈p C)

One that only gives columns of a scan other names moves up, too.

Kinds   from the left input: inner, left, semi and anti (the last two without C's columns); from the right one: inner and
        right. Below a NULL-extended side a computed column would become NULL, above it would not
NULLs   safe: the same values, computed later
Rows    same bag; items are computed for rows with a partner only, so they can only raise less
Guards  p reads only columns that the projection passes on as they are, so nothing is computed twice; nothing volatile
"""

from optimizer.algebra.building import passed_all
from optimizer.algebra.flags import PROJECTED
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Project, ProjectItem, Scan
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.predicates import conjunction, predicate_columns
from optimizer.algebra.scalar_trees import substitute
from optimizer.algebra.scalars import ColumnRef, Scalar
from optimizer.algebra.trees import Node, Tree
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Join, ANY, ANY), openings=PROJECTED)
def project_pull_join(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Join(kind, predicate), (left, right)):
            if any(s.volatile for s in predicate):
                return None
            read = predicate_columns(predicate)
            from_left, from_right = kind not in (JoinKind.RIGHT, JoinKind.FULL), kind in (JoinKind.INNER, JoinKind.RIGHT)
            for side, other, allowed in ((left, right, from_left), (right, left, from_right)):
                if allowed and (lowered := _below(side, read)) is not None:
                    project, values, below = lowered
                    inputs = (below, other) if side is left else (other, below)
                    joined = Tree(Join(kind, conjunction(substitute(s, values) for s in predicate)), inputs)
                    beside = () if kind.left_only else passed_all(other, context.columns)
                    return Tree(Project((*project.items, *beside)), (joined,))
    return None


def _below(side: Node, read: int) -> tuple[Project, dict[int, Scalar], Tree] | None:
    """The projection that `side` is, what it defines, and what is below it; None where it has to stay."""
    match side:
        case Tree(Project(items) as project, (Tree() as below,)):
            values = {item.id: item.value for item in items}
            if not isinstance(below.op, Join) and not (isinstance(below.op, Scan) and _renames(items)):
                return None
            for item in items:
                if item.value.volatile or (read >> item.id & 1 and not isinstance(item.value, ColumnRef)):
                    return None
            return project, values, below
    return None


def _renames(items: tuple[ProjectItem, ...]) -> bool:
    """Whether a projection gives columns other names and computes nothing."""
    sources = [item.value.id if isinstance(item.value, ColumnRef) else None for item in items]
    return None not in sources and any(item.id != source for item, source in zip(items, sources, strict=True))
