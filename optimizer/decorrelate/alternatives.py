"""Each Apply as a choice: evaluated for each binding, or unnested: with a domain, with inner columns in its place, or, where
these are not enough and R is a scalar aggregate, grouped by the left row.

    L A⊗ R  ≡  Choice( L ⊗ R by substitution,  L ⊗ R with a domain,  Γ_L(L ⟕ R),  L A⊗ R )

In the memo the trees of a choice are one group, and the search picks. The inner parts of the unnested forms are not equal to
each other, nor to R: each holds the rows of R for other bindings. Only the whole joins are.
"""

from __future__ import annotations

from functools import reduce
from operator import and_

from optimizer.algebra.building import passed, tree_of
from optimizer.algebra.columns import Columns, ColumnSet, column_ids
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Choice, Project
from optimizer.algebra.logical_joins import Apply, Join
from optimizer.algebra.rebuild import map_tree
from optimizer.algebra.spools import With
from optimizer.algebra.trees import Node, Tree, postorder
from optimizer.decorrelate.applies import replace_applies
from optimizer.decorrelate.general import General
from optimizer.decorrelate.rules.apply_scalar_aggregate import grouped_by_left
from optimizer.prepass.dag import Dag

MOST_CHOICES = 6  # one below another: each has its left input in up to four forms, so there are 4^6 of the lowest


def alternatives(root: Tree, columns: Columns, most: int) -> Tree:
    """The tree with a choice for each Apply that reads columns of its left input, also inside right inputs that stay as they are;
    `most`: for so many one below another, and below these all are unnested. Recursive over nested Applies only."""
    return replace_applies(root, lambda node: _choice(node, columns, most))


def in_a_row(root: Tree) -> int:
    """How many Applies that read columns of their left inputs are one below another, at most."""
    below: dict[int, int] = {}
    for node in postorder(root):
        correlated = isinstance(node.op, Apply) and bool(tree_of(node.inputs[1]).outer & node.inputs[0].columns)
        below[id(node)] = max((below[id(each)] for each in node.inputs), default=0) + correlated
    return below[id(root)]


def _choice(node: Tree, columns: Columns, most: int) -> Tree:
    left, right = map(tree_of, node.inputs)
    correlated = bool(right.outer & left.columns)
    if correlated and not most:
        return General(columns).decorrelate(node)
    source = General(columns).decorrelate(left) if left.has_apply else left
    left = alternatives(left, columns, most - correlated)
    assert isinstance(node.op, Apply)
    apply = Tree(node.op, (left, right))
    if not correlated:
        return General(columns).over(apply, source)
    forms: list[Tree] = []
    cover, domains = General(columns), General(columns, substitute=False)
    for unnesting in (cover, domains):  # they unnest the Applies in the right input too
        form = unnesting.over(apply, source)
        if not isinstance(form.op, Apply) and not any(same_shape(form, other) for other in forms):
            forms.append(form)
    if cover.domains.made:  # else the search makes the grouping above the join of the one below it
        grouped = grouped_by_left(node.op, left, General(columns).decorrelate(right), columns)
        forms += [grouped] if grouped is not None else []
    kept = Tree(node.op, (left, alternatives(right, columns, most - 1)))
    return Tree(Choice(node.columns), (*forms, kept)) if forms else kept


def exactly(tree: Tree, wanted: ColumnSet, columns: Columns, always: bool = False) -> Tree:
    """The tree with no columns but `wanted`; `always`: as a projection also where it has no others."""
    if tree.columns == wanted and not always:
        return tree
    return Tree(Project(passed(column_ids(wanted), columns)), (tree,))


def settle_choices(root: Tree, columns: Columns) -> Tree:
    """The tree as the memo takes it: all trees of a choice have the same columns, those that were in all of them before, and none
    has another as a part: where A ⋉ B is to give the rows of A, their group would be an input of itself, and rules would go on.

    Inner joins beside spools are a group of their own, under a projection: the relations of a region are searched before other
    expressions of its group are, and without a limit, while spools that cost less may save searching them at all.
    """

    def one(tree: Tree) -> Tree:
        if not isinstance(tree.op, Choice):
            return tree
        trees = _simplest(tree)
        common = reduce(and_, (each.columns for each in trees))
        spools = any(isinstance(each.op, With) for each in trees)
        apart = [spools and isinstance(each.op, Join) and each.op.kind is JoinKind.INNER for each in trees]
        settled = tuple(exactly(t, common, columns, always) for t, always in zip(trees, apart, strict=True))
        return Tree(Choice(common), settled) if len(settled) > 1 else settled[0]

    return map_tree(Dag(interning=True).intern(root), one) if root.has_choice else root


def _simplest(choice: Tree) -> list[Tree]:
    """The trees of a choice without those that another is a part of; equal ones are the same object. A choice among them goes if
    all its trees do."""
    trees = {id(tree): tree for tree in map(tree_of, choice.inputs)}
    forms = {key: tree.inputs if isinstance(tree.op, Choice) else (tree,) for key, tree in trees.items()}
    all_forms = {id(form) for each in forms.values() for form in each}

    def has_no_other(form: Node) -> bool:
        return not any(id(part) in all_forms for part in postorder(form) if part is not form)

    return [tree for key, tree in trees.items() if any(map(has_no_other, forms[key]))]


def same_shape(a: Tree, b: Tree) -> bool:
    """Whether two unnested forms are the same operators in the same places; then the domain was not needed."""
    return [type(node.op) for node in postorder(a)] == [type(node.op) for node in postorder(b)]
