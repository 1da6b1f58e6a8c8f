"""A plug-in whose rule is wrong: it turns joins of every kind round."""

TURN = """
from planscope import ANY, TransformationRule, node
from planscope.algebra import Join, Tree
from planscope.plugin import rule
@rule
class Turn(TransformationRule):
    name = "turn"
    pattern = node(Join, ANY, ANY)
    def apply(self, bound, context): return (Tree(bound.op, bound.inputs[::-1]),)
"""
