"""The program of the pre-pass: which rules, in which batches. Data, so that it can be printed, cut or replaced."""

from __future__ import annotations

from optimizer.prepass.instructions import Batch, Program, rules_of
from optimizer.prepass.rules.aggregate_merge_project import AggregateMergeProject
from optimizer.prepass.rules.aggregate_reduce_constant_keys import AggregateReduceConstantKeys
from optimizer.prepass.rules.aggregate_reduce_keys import AggregateReduceKeys
from optimizer.prepass.rules.aggregate_remove import AggregateRemove
from optimizer.prepass.rules.aggregate_remove_constants import AggregateRemoveConstants
from optimizer.prepass.rules.aggregate_remove_one_row import AggregateRemoveOneRow
from optimizer.prepass.rules.aggregate_simplify_calls import AggregateSimplifyCalls
from optimizer.prepass.rules.apply_push_condition import ApplyPushCondition
from optimizer.prepass.rules.arithmetic_simplify import ArithmeticSimplify
from optimizer.prepass.rules.arithmetic_within_bounds import ArithmeticWithinBounds
from optimizer.prepass.rules.boolean_normalize import BooleanNormalize
from optimizer.prepass.rules.case_simplify import CaseSimplify
from optimizer.prepass.rules.choice_prune import ChoicePrune
from optimizer.prepass.rules.column_prune import ColumnPrune
from optimizer.prepass.rules.comparison_simplify import ComparisonSimplify
from optimizer.prepass.rules.comparison_unwrap import ComparisonUnwrap
from optimizer.prepass.rules.constant_fold import ConstantFold
from optimizer.prepass.rules.distinct_remove_below import DistinctRemoveBelow
from optimizer.prepass.rules.distinct_remove_semi import DistinctRemoveSemi
from optimizer.prepass.rules.distinct_to_limit import DistinctToLimit
from optimizer.prepass.rules.empty_propagate import EmptyPropagate
from optimizer.prepass.rules.filter_merge import FilterMerge
from optimizer.prepass.rules.filter_push_aggregate import FilterPushAggregate
from optimizer.prepass.rules.filter_push_choice import FilterPushChoice
from optimizer.prepass.rules.filter_push_grouping_sets import FilterPushGroupingSets
from optimizer.prepass.rules.filter_push_join import FilterPushJoin
from optimizer.prepass.rules.filter_push_limit import FilterPushLimit
from optimizer.prepass.rules.filter_push_project import FilterPushProject
from optimizer.prepass.rules.filter_push_scan import FilterPushScan
from optimizer.prepass.rules.filter_push_setop import FilterPushSetOp
from optimizer.prepass.rules.filter_push_window import FilterPushWindow
from optimizer.prepass.rules.filter_remove_implied import FilterRemoveImplied
from optimizer.prepass.rules.foreign_key_join_remove import ForeignKeyJoinRemove
from optimizer.prepass.rules.join_connect import JoinConnect
from optimizer.prepass.rules.join_infer_equality import JoinInferEquality
from optimizer.prepass.rules.join_infer_filter import JoinInferFilter
from optimizer.prepass.rules.join_infer_or import JoinInferOr
from optimizer.prepass.rules.join_push_condition import JoinPushCondition
from optimizer.prepass.rules.join_separate_sides import JoinSeparateSides
from optimizer.prepass.rules.like_simplify import LikeSimplify
from optimizer.prepass.rules.limit_merge import LimitMerge
from optimizer.prepass.rules.limit_push_join import LimitPushJoin
from optimizer.prepass.rules.limit_push_one_match import LimitPushOneMatch
from optimizer.prepass.rules.limit_push_project import LimitPushProject
from optimizer.prepass.rules.limit_push_scan import LimitPushScan
from optimizer.prepass.rules.limit_push_union import LimitPushUnion
from optimizer.prepass.rules.limit_reduce_order import LimitReduceOrder
from optimizer.prepass.rules.limit_remove import LimitRemove
from optimizer.prepass.rules.mark_join_remove import MarkJoinRemove
from optimizer.prepass.rules.mark_join_to_semi import MarkJoinToSemi
from optimizer.prepass.rules.not_null_simplify import NotNullSimplify
from optimizer.prepass.rules.or_factor import OrFactor
from optimizer.prepass.rules.outer_join_remove import OuterJoinRemove
from optimizer.prepass.rules.outer_join_simplify import OuterJoinSimplify
from optimizer.prepass.rules.outer_join_to_anti import OuterJoinToAnti
from optimizer.prepass.rules.predicate_intersect import PredicateIntersect
from optimizer.prepass.rules.predicate_weaken import PredicateWeaken
from optimizer.prepass.rules.project_merge import ProjectMerge
from optimizer.prepass.rules.project_merge_aggregate import ProjectMergeAggregate
from optimizer.prepass.rules.project_pull_join import ProjectPullJoin
from optimizer.prepass.rules.project_push_union import ProjectPushUnion
from optimizer.prepass.rules.project_remove import ProjectRemove
from optimizer.prepass.rules.semi_join_to_extreme import SemiJoinToExtreme
from optimizer.prepass.rules.single_join_to_left import SingleJoinToLeft
from optimizer.prepass.rules.sort_remove import SortRemove
from optimizer.prepass.rules.union_flatten import UnionFlatten
from optimizer.prepass.rules.union_remove_empty import UnionRemoveEmpty

_INTERSECT = PredicateIntersect()
_AT_JOIN = (JoinPushCondition(), JoinSeparateSides(), ApplyPushCondition(), JoinInferFilter(), JoinInferEquality(), JoinInferOr())

_REWRITES = (
    ConstantFold(), BooleanNormalize(), ComparisonSimplify(), CaseSimplify(), LikeSimplify(), ArithmeticSimplify(),
    ArithmeticWithinBounds(), NotNullSimplify(), PredicateWeaken(), ComparisonUnwrap(), _INTERSECT, EmptyPropagate(),
    OrFactor(), FilterMerge(), FilterRemoveImplied(), OuterJoinSimplify(), OuterJoinToAnti(), MarkJoinToSemi(),
    SingleJoinToLeft(), FilterPushProject(), FilterPushJoin(), FilterPushAggregate(), FilterPushGroupingSets(),
    FilterPushWindow(), FilterPushSetOp(), FilterPushLimit(), FilterPushChoice(), FilterPushScan((_INTERSECT, *_AT_JOIN)),
    *_AT_JOIN, JoinConnect(), ProjectMerge(), ProjectMergeAggregate(), UnionFlatten(), UnionRemoveEmpty(),
    DistinctRemoveBelow(), DistinctRemoveSemi(), AggregateReduceConstantKeys(), AggregateRemoveConstants(),
    AggregateRemoveOneRow(), AggregateMergeProject(), LimitMerge(), LimitPushProject(), LimitPushUnion(), LimitPushOneMatch(),
    LimitPushJoin(), LimitPushScan(),
)  # fmt: skip

_REDUCE_ORDER = LimitReduceOrder()

# they ask for keys of whole trees, so they come when the predicates are in their places, and before the columns are pruned
_BY_KEYS = (
    AggregateRemove(), AggregateReduceKeys(), OuterJoinRemove(), MarkJoinRemove(), ForeignKeyJoinRemove(),
    SemiJoinToExtreme(),
)  # fmt: skip

# they ask for properties of whole trees (keys, numbers of rows), so they come late, when the trees stay as they are
_BY_PROPERTIES = (AggregateSimplifyCalls(), DistinctToLimit(), _REDUCE_ORDER, LimitRemove(), SortRemove())

# what brings filters and limits to the inputs of an Apply, before decorrelation copies its left one for a domain, and shows it
# equalities that all branches of an OR have. Not into scans: there decorrelation would have to take them out again
_BEFORE_DECORRELATION = (
    ArithmeticWithinBounds, OrFactor, FilterMerge, OuterJoinSimplify, FilterPushProject, FilterPushJoin, FilterPushAggregate,
    FilterPushGroupingSets, FilterPushWindow, FilterPushSetOp, FilterPushLimit, JoinPushCondition, JoinInferFilter,
    JoinInferOr, ProjectMerge, LimitMerge, LimitPushProject, LimitPushUnion, LimitPushOneMatch, LimitPushJoin,
)  # fmt: skip

# joins and keys of orders go once the predicates show what is read, and before pruning, so that nothing is read for them;
# projections end columns, so they go only after the columns are pruned; then joins that they kept apart meet
PROGRAM: tuple[Batch, ...] = (
    Batch("predicates", (ChoicePrune(), *_REWRITES)),
    Batch("keys", (_REDUCE_ORDER, *_BY_KEYS)),
    Batch("columns", (ColumnPrune((*_REWRITES, _REDUCE_ORDER)),), fixpoint=False),
    Batch("projections", (*_REWRITES, *_BY_PROPERTIES, ProjectRemove(), ProjectPullJoin(), ProjectPushUnion())),
)


def before_decorrelation(program: Program) -> tuple[Batch, ...]:
    """What runs over a tree with Applies before they are removed: the rules of `program` that move filters and limits down."""
    return (Batch("filters", tuple(rule for rule in rules_of(program) if isinstance(rule, _BEFORE_DECORRELATION))),)
