"""A union in a branch of a union gives its branches to it.

    (A ∪ B) ∪ C  ≡  A ∪ B ∪ C        ∪ with ALL

NULLs, rows   untouched: every row comes out once
"""

from optimizer.algebra.columns import ColumnId
from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import SetOp
from optimizer.algebra.trees import Node, Tree
from optimizer.rules.interface import RuleContext, node, rewrite


@rewrite(node(SetOp))
def union_flatten(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(SetOp(SetOpKind.UNION, True, columns, sources), branches):
            inputs: list[Node] = []
            flat: list[tuple[ColumnId, ...]] = []
            for branch, source in zip(branches, sources, strict=True):
                match branch:
                    case Tree(SetOp(SetOpKind.UNION, True) as inner, below):
                        positions = [inner.columns.index(column) for column in source]
                        inputs += below
                        flat += (tuple(own[i] for i in positions) for own in inner.sources)
                    case _:
                        inputs.append(branch)
                        flat.append(source)
            if len(inputs) > len(branches):
                return Tree(SetOp(SetOpKind.UNION, True, columns, tuple(flat)), tuple(inputs))
    return None
