"""An Apply of a scalar aggregate is an aggregate of an outer join, grouped by the left row.

    L A⊗ Γ¹_f(σ_p(E))  ≡  Γ_{L; f'}(L ⟕p E)        f' counts only rows that have a match

(Galindo-Legaria and Joshi, SIGMOD 2001, rule 9.) Projections and filters above Γ¹ are computed above the result.

Kinds   all: the subquery has exactly one row for each row of L
NULLs   a row of L without a match makes a group whose only row is padded with NULLs: a column that is TRUE in E tells it, and
        every aggregate leaves it out, so count is 0 and the others are NULL
Guards  L has a key, else equal rows of L would become one group, and no column of which a group would put out another form (0.0
        for -0.0); nothing is volatile; p reads a column of E, else all rows of L would be joined with all of E
"""

from optimizer.algebra.building import tree_of
from optimizer.algebra.columns import Columns, column_ids
from optimizer.algebra.congruence import has_one_form
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Aggregate, AggregateItem
from optimizer.algebra.logical_joins import Apply, Join
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.scalar_trees import bound_to
from optimizer.algebra.scalars import BOOL, AggregateCall, Call, Scalar
from optimizer.algebra.trees import Tree
from optimizer.decorrelate.one_row import above, one_row
from optimizer.decorrelate.pull_up import pull_up, with_witness
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, node


class ApplyScalarAggregate(RewriteRule):
    name = "apply_scalar_aggregate"
    pattern = node(Apply, ANY, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        match bound:
            case Tree(Apply() as op, (Tree() as left, Tree() as right)):
                return grouped_by_left(op, left, right, context.columns)
        return None


def grouped_by_left(op: Apply, left: Tree, right: Tree, columns: Columns) -> Tree | None:
    """The Apply of `right` to `left` as an aggregate of their outer join; None where a guard says no."""
    free = right.outer & left.columns
    found = one_row(right)
    if not free or found is None or not left.props.keys or left.volatile or right.volatile:
        return None
    if not all(has_one_form(columns[id].type) for id in column_ids(left.columns)):
        return None
    pulled = pull_up(tree_of(found.aggregate.inputs[0]), free, columns)
    if pulled is None or pulled.values or not any(s.columns for s in pulled.conjuncts):  # all left rows with all others
        return None
    inner, matched = with_witness(pulled.tree, "matched", columns)
    on = conjunction(bound_to(s, left.columns) for s in pulled.conjuncts)
    joined = Tree(Join(JoinKind.LEFT, on), (left, inner))
    aggregate = found.aggregate.op
    assert isinstance(aggregate, Aggregate)
    calls = tuple(AggregateItem(i.id, _of_matches(i.call, matched, left.columns)) for i in aggregate.aggregates)
    grouped = Tree(Aggregate(tuple(column_ids(left.columns)), calls), (joined,))
    predicate = tuple(bound_to(s, left.columns) for s in op.predicate)
    return above(op, predicate, left, found, grouped, columns)


def _of_matches(call: AggregateCall, matched: Scalar, left: int) -> AggregateCall:
    """The aggregate over the rows that have a match."""
    args = tuple(bound_to(arg, left) for arg in call.args)
    filter = matched if call.filter is None else Call("and", (matched, bound_to(call.filter, left)), BOOL)
    return AggregateCall(call.function, args, call.distinct, filter, call.type)
