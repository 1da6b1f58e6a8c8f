"""Any join can run as nested loops over blocks of its inputs, testing every pair of rows; the only way without an equality."""

from optimizer.algebra.logical_joins import IndependentJoin
from optimizer.algebra.physical import NestedLoopJoin
from optimizer.rules.interface import ANY, ImplementationRule, node


class JoinToNestedLoopJoin(ImplementationRule):
    name = "join_to_nested_loop_join"
    pattern = node(IndependentJoin, ANY, ANY)
    to = NestedLoopJoin
