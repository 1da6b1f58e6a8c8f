"""All rules of the memo search, in the order in which they are tried at equal promise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import TypeVar

from optimizer.rules.enforce import partial_sort, sort
from optimizer.rules.implement.apply_to_cached_apply import ApplyToCachedApply
from optimizer.rules.implement.filter_to_lookup_rows import FilterToLookupRows
from optimizer.rules.implement.filter_to_range_lookup import FilterToRangeLookup
from optimizer.rules.implement.join_to_hash_join import JoinToHashJoin
from optimizer.rules.implement.join_to_merge_join import JoinToMergeJoin
from optimizer.rules.implement.one_to_one import ONE_TO_ONE
from optimizer.rules.interface import ImplementationRule, Rule, TransformationRule
from optimizer.rules.rule_set import RuleSet
from optimizer.rules.transform.aggregate_pull_join import AggregatePullJoin
from optimizer.rules.transform.aggregate_push_join import AggregatePushJoin
from optimizer.rules.transform.aggregate_push_outer_join import AggregatePushOuterJoin
from optimizer.rules.transform.aggregate_split_join import AggregateSplitJoin
from optimizer.rules.transform.aggregate_split_union import AggregateSplitUnion
from optimizer.rules.transform.join_associate import JoinAssociate
from optimizer.rules.transform.join_associate_left import JoinAssociateLeft
from optimizer.rules.transform.join_associate_reverse import JoinAssociateReverse
from optimizer.rules.transform.join_commute import JoinCommute
from optimizer.rules.transform.join_exchange_full import JoinExchangeFull
from optimizer.rules.transform.join_exchange_inner import JoinExchangeInner
from optimizer.rules.transform.join_exchange_left import JoinExchangeLeft
from optimizer.rules.transform.join_exchange_semi import JoinExchangeSemi
from optimizer.rules.transform.join_to_apply import JoinToApply
from optimizer.rules.transform.join_to_apply_grouped import JoinToApplyGrouped
from optimizer.rules.transform.partition_joins import PartitionJoins
from optimizer.rules.transform.partition_region import PartitionRegion
from optimizer.rules.transform.scan_split_outer import ScanSplitOuter
from optimizer.rules.transform.semi_join_to_inner_on_distinct import SemiJoinToInnerOnDistinct
from optimizer.rules.transform.semi_join_to_inner_on_key import SemiJoinToInnerOnKey
from optimizer.settings import Settings

TRANSFORMATIONS: tuple[TransformationRule, ...] = (
    PartitionJoins(), PartitionRegion(), JoinCommute(), JoinAssociate(), JoinAssociateReverse(), JoinExchangeInner(),
    JoinExchangeLeft(), JoinExchangeFull(), JoinExchangeSemi(), JoinAssociateLeft(), SemiJoinToInnerOnKey(),
    SemiJoinToInnerOnDistinct(), AggregatePushJoin(), AggregatePushOuterJoin(), AggregateSplitJoin(), AggregatePullJoin(),
    AggregateSplitUnion(), ScanSplitOuter(), JoinToApply(), JoinToApplyGrouped(),
)  # fmt: skip

IMPLEMENTATIONS: tuple[ImplementationRule, ...] = (
    JoinToHashJoin(), JoinToMergeJoin(), *ONE_TO_ONE, FilterToLookupRows(), FilterToRangeLookup(), ApplyToCachedApply(),
)  # fmt: skip

R = TypeVar("R", bound=Rule)

ENFORCERS = (sort.name, partial_sort.name)


def rule_set(
    settings: Settings,
    transformations: Sequence[TransformationRule] = TRANSFORMATIONS,
    implementations: Sequence[ImplementationRule] = IMPLEMENTATIONS,
) -> RuleSet:
    """The rules that `settings` leave on, by promise, or in random order when `rule_order` seeds one."""

    def ordered(rules: Iterable[R]) -> tuple[R, ...]:
        kept = [rule for rule in rules if rule.name not in settings.disable]
        if settings.rule_order:
            Random(settings.rule_order).shuffle(kept)
        else:
            kept.sort(key=lambda rule: -rule.promise)
        return tuple(kept)

    used = (rule for rule in transformations if not rule.unused(settings))
    enforcers = tuple(name for name in ENFORCERS if name not in settings.disable)
    return RuleSet(ordered(used), ordered(implementations), enforcers, settings.enumeration)
