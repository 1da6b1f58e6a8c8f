"""A tree of joins and the plans of its memo, as the operator trees that `tests.joins.closure` makes.

Nothing here is shared with the rules: whether a predicate rejects NULLs is found by trying all values.
"""

from itertools import product

from optimizer.algebra import ColumnSet, Join, JoinKind, Predicate, Scan, Tree, column_ids, postorder, predicate_columns
from optimizer.algebra.columns import union
from optimizer.algebra.evaluate import holds
from optimizer.algebra.trees import relation_of
from optimizer.joins.conflicts import TreeOperator
from optimizer.memo.memo import Memo
from tests.joins.closure import OperatorTree, closure, joined

Operators = dict[Predicate, TreeOperator]  # no two joins of a tree have the same predicate


def operators_of(tree: Tree) -> Operators:
    """The joins of a tree whose predicates read one relation of either input; right joins as left joins."""
    joins = [node for node in postorder(tree) if isinstance(node, Tree) and isinstance(node.op, Join)]
    leaves = [node.columns for node in postorder(tree) if isinstance(node, Tree) and isinstance(node.op, Scan)]
    found = {}
    for node in joins:
        kind, predicate = node.op.kind, node.op.predicate
        left, right = (each.relations for each in node.inputs)
        if kind is JoinKind.RIGHT:
            kind, left, right = JoinKind.LEFT, right, left
        read = [columns for columns in leaves if columns & predicate_columns(predicate)]
        rejects = tuple(relation_of(columns) for columns in read if rejects_nulls(predicate, columns))
        found[predicate] = TreeOperator(kind, left, right, union(map(relation_of, read)), rejects)
    return found


def rejects_nulls(predicate: Predicate, columns: ColumnSet) -> bool:
    """Never TRUE when all of `columns` are NULL, by trying all values of the others."""
    read = list(column_ids(predicate_columns(predicate)))
    choices = [(None,) if columns >> c & 1 else (None, 0, 1) for c in read]
    return not any(holds(predicate, dict(zip(read, values, strict=True))) for values in product(*choices))


def plans_of_tree(tree: Tree) -> set[OperatorTree]:
    """Every plan that the tree can be rewritten into."""
    operators = operators_of(tree)

    def plan_of(node: Tree) -> OperatorTree:
        if isinstance(node.op, Scan):
            return relation_of(node.columns)
        left, right = map(plan_of, node.inputs)
        if node.op.kind is JoinKind.RIGHT:
            left, right = right, left
        return numbered(operators, node.op.predicate, left, right)

    return closure(list(operators.values()), plan_of(tree))


def numbered(operators: Operators, predicate: Predicate, left: OperatorTree, right: OperatorTree) -> OperatorTree:
    return joined(list(operators.values()), list(operators).index(predicate), left, right)


def plans_of_memo(memo: Memo, root: int, tree: Tree) -> set[OperatorTree]:
    """Every plan of a group of joins and scans that `tree` became. Right joins are left out: each mirrors a left one."""
    operators = operators_of(tree)
    known: dict[int, set[OperatorTree]] = {}

    def plans(gid: int) -> set[OperatorTree]:
        gid = memo.find(gid)
        if gid not in known:
            known[gid] = set()
            for mexpr in memo.group(gid).logical:
                if isinstance(mexpr.op, Scan):
                    known[gid].add(relation_of(memo.group(gid).props.columns))
                elif isinstance(mexpr.op, Join) and mexpr.op.kind is not JoinKind.RIGHT:
                    assert mexpr.op.kind is operators[mexpr.op.predicate].kind
                    known[gid] |= {
                        numbered(operators, mexpr.op.predicate, left, right)
                        for left in plans(mexpr.inputs[0])
                        for right in plans(mexpr.inputs[1])
                    }
        return known[gid]

    return plans(root)
