"""The program of the pre-pass: which rules, in which batches. Data, so that it can be printed, cut or replaced."""

from optimizer.prepass.instructions import Batch, Program, rules_of
from optimizer.prepass.rules.aggregate_merge_project import aggregate_merge_project
from optimizer.prepass.rules.aggregate_reduce_constant_keys import aggregate_reduce_constant_keys
from optimizer.prepass.rules.aggregate_reduce_keys import aggregate_reduce_keys
from optimizer.prepass.rules.aggregate_remove import aggregate_remove
from optimizer.prepass.rules.aggregate_remove_constants import aggregate_remove_constants
from optimizer.prepass.rules.aggregate_simplify_calls import aggregate_simplify_calls
from optimizer.prepass.rules.apply_push_condition import apply_push_condition
from optimizer.prepass.rules.arithmetic_simplify import arithmetic_simplify
from optimizer.prepass.rules.arithmetic_within_bounds import arithmetic_within_bounds
from optimizer.prepass.rules.boolean_normalize import boolean_normalize
from optimizer.prepass.rules.case_simplify import case_simplify
from optimizer.prepass.rules.choice_prune import ChoicePrune
from optimizer.prepass.rules.column_prune import ColumnPrune
from optimizer.prepass.rules.comparison_simplify import comparison_simplify
from optimizer.prepass.rules.comparison_unwrap import comparison_unwrap
from optimizer.prepass.rules.constant_fold import constant_fold
from optimizer.prepass.rules.distinct_remove_below import distinct_remove_below
from optimizer.prepass.rules.distinct_to_limit import distinct_to_limit
from optimizer.prepass.rules.empty_propagate import empty_propagate
from optimizer.prepass.rules.filter_merge import filter_merge
from optimizer.prepass.rules.filter_push_aggregate import filter_push_aggregate
from optimizer.prepass.rules.filter_push_choice import filter_push_choice
from optimizer.prepass.rules.filter_push_grouping_sets import filter_push_grouping_sets
from optimizer.prepass.rules.filter_push_join import filter_push_join
from optimizer.prepass.rules.filter_push_limit import filter_push_limit
from optimizer.prepass.rules.filter_push_project import filter_push_project
from optimizer.prepass.rules.filter_push_scan import FilterPushScan
from optimizer.prepass.rules.filter_push_setop import filter_push_setop
from optimizer.prepass.rules.filter_push_window import filter_push_window
from optimizer.prepass.rules.filter_remove_implied import filter_remove_implied
from optimizer.prepass.rules.foreign_key_join_remove import foreign_key_join_remove
from optimizer.prepass.rules.join_connect import join_connect
from optimizer.prepass.rules.join_infer_equality import join_infer_equality
from optimizer.prepass.rules.join_infer_filter import join_infer_filter
from optimizer.prepass.rules.join_infer_or import join_infer_or
from optimizer.prepass.rules.join_push_condition import join_push_condition
from optimizer.prepass.rules.join_separate_sides import join_separate_sides
from optimizer.prepass.rules.like_simplify import like_simplify
from optimizer.prepass.rules.limit_merge import limit_merge
from optimizer.prepass.rules.limit_push_join import limit_push_join
from optimizer.prepass.rules.limit_push_one_match import limit_push_one_match
from optimizer.prepass.rules.limit_push_project import limit_push_project
from optimizer.prepass.rules.limit_push_scan import limit_push_scan
from optimizer.prepass.rules.limit_push_union import limit_push_union
from optimizer.prepass.rules.limit_reduce_order import limit_reduce_order
from optimizer.prepass.rules.limit_remove import limit_remove
from optimizer.prepass.rules.mark_join_to_semi import mark_join_to_semi
from optimizer.prepass.rules.not_null_simplify import not_null_simplify
from optimizer.prepass.rules.or_factor import or_factor
from optimizer.prepass.rules.outer_join_remove import outer_join_remove
from optimizer.prepass.rules.outer_join_simplify import outer_join_simplify
from optimizer.prepass.rules.outer_join_to_anti import outer_join_to_anti
from optimizer.prepass.rules.predicate_intersect import predicate_intersect
from optimizer.prepass.rules.predicate_weaken import predicate_weaken
from optimizer.prepass.rules.project_merge import project_merge
from optimizer.prepass.rules.project_merge_aggregate import project_merge_aggregate
from optimizer.prepass.rules.project_pull_join import project_pull_join
from optimizer.prepass.rules.project_push_union import project_push_union
from optimizer.prepass.rules.project_remove import project_remove
from optimizer.prepass.rules.self_join_remove import self_join_remove
from optimizer.prepass.rules.semi_join_to_extreme import semi_join_to_extreme
from optimizer.prepass.rules.set_op_to_join import set_op_to_join
from optimizer.prepass.rules.single_join_push_join import single_join_push_join
from optimizer.prepass.rules.single_join_to_left import single_join_to_left
from optimizer.prepass.rules.sort_remove import sort_remove
from optimizer.prepass.rules.union_flatten import union_flatten

_AT_JOIN = (join_push_condition, join_separate_sides, apply_push_condition, join_infer_filter, join_infer_equality, join_infer_or)

_REWRITES = (
    constant_fold, boolean_normalize, comparison_simplify, case_simplify, like_simplify, arithmetic_simplify,
    arithmetic_within_bounds, not_null_simplify, predicate_weaken, comparison_unwrap, predicate_intersect, empty_propagate,
    or_factor, filter_merge, filter_remove_implied, outer_join_simplify, outer_join_to_anti, mark_join_to_semi,
    single_join_to_left, single_join_push_join, filter_push_project, filter_push_join, filter_push_aggregate,
    filter_push_grouping_sets, filter_push_window, filter_push_setop, filter_push_limit, filter_push_choice,
    FilterPushScan((predicate_intersect, *_AT_JOIN)), *_AT_JOIN, join_connect, project_merge, project_merge_aggregate,
    union_flatten, set_op_to_join, distinct_remove_below, aggregate_reduce_constant_keys, aggregate_remove_constants,
    aggregate_merge_project, limit_merge, limit_push_project, limit_push_union, limit_push_one_match, limit_push_join,
    limit_push_scan,
)  # fmt: skip

# they ask for keys of whole trees, so they come when the predicates are in their places, and before the columns are pruned
_BY_KEYS = (
    aggregate_remove,
    aggregate_reduce_keys,
    outer_join_remove,
    foreign_key_join_remove,
    self_join_remove,
    semi_join_to_extreme,
)

# they ask for properties of whole trees (keys, numbers of rows), so they come late, when the trees stay as they are
_BY_PROPERTIES = (aggregate_simplify_calls, distinct_to_limit, limit_reduce_order, limit_remove, sort_remove)

# what brings filters and limits to the inputs of an Apply, before decorrelation copies its left one for a domain, and shows it
# equalities that all branches of an OR have. Not into scans: there decorrelation would have to take them out again
_BEFORE_DECORRELATION = (
    arithmetic_within_bounds, or_factor, filter_merge, outer_join_simplify, filter_push_project, filter_push_join,
    filter_push_aggregate, filter_push_grouping_sets, filter_push_window, filter_push_setop, filter_push_limit,
    join_push_condition, join_infer_filter, join_infer_or, project_merge, limit_merge, limit_push_project, limit_push_union,
    limit_push_one_match, limit_push_join, set_op_to_join,
)  # fmt: skip

# joins and keys of orders go once the predicates show what is read, and before pruning, so that nothing is read for them;
# projections end columns, so they go only after the columns are pruned; then joins that they kept apart meet
PROGRAM: tuple[Batch, ...] = (
    Batch("predicates", (ChoicePrune(), *_REWRITES)),
    Batch("keys", (limit_reduce_order, *_BY_KEYS)),
    Batch("columns", (ColumnPrune((*_REWRITES, limit_reduce_order)),), fixpoint=False),
    Batch("projections", (*_REWRITES, *_BY_PROPERTIES, project_remove, project_pull_join, project_push_union)),
)


def before_decorrelation(program: Program) -> tuple[Batch, ...]:
    """What runs over a tree with Applies before they are removed: the rules of `program` that move filters and limits down."""
    return (Batch("filters", tuple(rule for rule in rules_of(program) if rule in _BEFORE_DECORRELATION)),)
