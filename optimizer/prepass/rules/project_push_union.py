"""A projection moves into the branches of a union.

    πe(A ∪ B)  ≡  πe(A) ∪ πe(B)        ∪ with ALL

There it merges with what the branches compute themselves, and unions that it kept apart meet. A projection that only picks and
renames columns becomes part of the union.

NULLs, rows   untouched: every row is projected once
Guards        no volatile item; expressions move only where a branch is a projection or a union, so that something is gained
"""

from optimizer.algebra.building import reference
from optimizer.algebra.columns import ColumnId
from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import Project, ProjectItem, SetOp
from optimizer.algebra.nulls import is_not_null
from optimizer.algebra.scalar_trees import substitute
from optimizer.algebra.scalars import ColumnRef, Scalar
from optimizer.algebra.trees import Node, Tree
from optimizer.rules.interface import RuleContext, node, rewrite


@rewrite(node(Project, node(SetOp)))
def project_push_union(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Project(items), (Tree(SetOp(SetOpKind.UNION, True, columns, sources), branches),)):
            outputs = tuple(item.id for item in items)
            if all(isinstance(item.value, ColumnRef) for item in items):
                picked = [columns.index(item.value.id) for item in items if isinstance(item.value, ColumnRef)]
                renamed = tuple(tuple(source[i] for i in picked) for source in sources)
                return Tree(SetOp(SetOpKind.UNION, True, outputs, renamed), branches)
            gained = any(isinstance(b, Tree) and isinstance(b.op, Project | SetOp) for b in branches)
            if not gained or any(item.value.volatile for item in items):
                return None
            parts = [
                _projected(branch, items, dict(zip(columns, source, strict=True)), context)
                for branch, source in zip(branches, sources, strict=True)
            ]
            return Tree(SetOp(SetOpKind.UNION, True, outputs, tuple(ids for _, ids in parts)), tuple(t for t, _ in parts))
    return None


def _projected(
    branch: Node, items: tuple[ProjectItem, ...], to: dict[ColumnId, ColumnId], context: RuleContext
) -> tuple[Tree, tuple[ColumnId, ...]]:
    """The branch under the projection, and the ids of the items there: new ones for what is computed."""
    values: dict[ColumnId, Scalar] = {out: reference(id, context.columns) for out, id in to.items()}
    own: dict[ColumnId, ProjectItem] = {}
    ids = []
    for item in items:
        value = substitute(item.value, values)
        if isinstance(value, ColumnRef):
            id = value.id
        else:
            nullable = not is_not_null(value, branch.props.not_null)
            id = context.columns.like(item.id, nullable)
        own[id] = ProjectItem(id, value)
        ids.append(id)
    return Tree(Project(tuple(own.values())), (branch,)), tuple(ids)
