"""A filter above many joins: one firing for their region."""

from functools import reduce
from itertools import pairwise

from optimizer.algebra import ColumnRef, Filter, Literal, Tree, compare, conjunction
from optimizer.algebra.printing import show_tree
from optimizer.prepass.hep import Batch
from optimizer.prepass.rules.filter_push_join import filter_push_join
from tests.unit.prepass.small_trees import BIG, columns_of, cross, run, scan


def test_a_filter_goes_through_all_joins_at_once() -> None:
    """One firing for a region of 600 relations: local conjuncts reach their scans, the others the lowest join."""
    columns, tree = columns_of(600), reduce(cross, map(scan, range(600)))
    refs = [ColumnRef(i, BIG) for i in range(600)]
    local = [compare(">", ref, Literal(7, BIG)) for ref in refs[::3]]
    links = [compare("=", a, b) for a, b in pairwise(refs)]
    result = run(Tree(Filter(conjunction([*local, *links])), (tree,)), Batch("all", (filter_push_join,)), columns=columns)
    assert [firing.rule for firing in result.firings] == ["filter_push_join"]
    text = show_tree(result.tree, columns)
    assert text.count("filter") == 200 and text.count("inner on") == 599 and "cross" not in text
