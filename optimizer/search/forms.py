"""Forms of a query that cannot be the cheapest, since to read their tables costs more than a plan of another form.

A common table expression that is read several times may be computed once or for each reference (`stages`). The form with spools
is searched first: where the tables that another form names cost as much to read as the plan found, that form stays out of the
memo. So it is where bounds are used, nobody says how to search (setting `region`), and every table is known to be read: by rules
of this project that make no lookups of joins, in a form without an Apply or another choice. Forms share groups: what
rules would add to these only while they explore the other form is left out with it.
"""

from optimizer.algebra.logical import Choice, Scan
from optimizer.algebra.spools import With
from optimizer.algebra.trees import Tree, postorder
from optimizer.memo.goal import ROUNDING
from optimizer.memo.memo import Memo
from optimizer.rules.catalog import TRANSFORMATIONS
from optimizer.search.context import SearchContext

_LOOKUPS = ("join_to_apply", "join_to_apply_grouped")


def spools_first(search: SearchContext, tree: Tree) -> tuple[Tree, list[tuple[Tree, float]]]:
    """What is searched first, and the forms that may be left out then, each with what its plans cost at least."""
    settings, forms = search.context.settings, [each for each in tree.inputs if isinstance(each, Tree)]
    bounds = search.use_bounds and search.prune and search.exploration == "all" and settings.region == "auto"
    if not isinstance(tree.op, Choice) or not bounds or settings.join_order or not isinstance(forms[0].op, With):
        return tree, []
    if any(rule not in TRANSFORMATIONS or rule.name in _LOOKUPS for rule in search.rules.transformations):
        return tree, []
    return forms[0], [(form, _reading(search.memo, form)) for form in forms[1:]]


def _reading(memo: Memo, form: Tree) -> float:
    """What it costs at least to read each table of a form."""
    if form.has_choice or form.has_apply:
        return 0.0
    total = 0.0
    for scan in {node.op: node for node in postorder(form) if isinstance(node, Tree) and isinstance(node.op, Scan)}.values():
        stats = memo.figures.estimate(scan.op, scan.props, ())
        total += memo.figures.lower_bound(scan.op, stats, (), ())
    return total * ROUNDING
