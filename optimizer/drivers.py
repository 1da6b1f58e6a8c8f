"""Which driver runs a search."""

from optimizer.cost.model import CostModel
from optimizer.iterative.search import IterativeSearch
from optimizer.memo.memo import Memo
from optimizer.rules.interface import RuleContext
from optimizer.rules.rule_set import RuleSet
from optimizer.search.search import Search
from optimizer.trace.recorder import Trace

DRIVERS: dict[str, type[Search]] = {"top_down": Search, "iterative": IterativeSearch}


def new_search(memo: Memo, rules: RuleSet, context: RuleContext, cost: CostModel, trace: Trace | None = None) -> Search:
    """A search by the driver that the settings name."""
    return DRIVERS[context.settings.driver](memo, rules, context, cost, trace)
