"""Plug-ins whose rule is wrong: one turns joins of every kind round, one drops the filters of scans."""

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

DROP = """
from dataclasses import replace
from planscope import TransformationRule, node
from planscope.algebra import Scan, Tree
from planscope.plugin import rule
@rule
class Drop(TransformationRule):
    name = "drop"
    pattern = node(Scan)
    def apply(self, bound, context): return (Tree(replace(bound.op, predicate=()), ()),) if bound.op.predicate else ()
"""
