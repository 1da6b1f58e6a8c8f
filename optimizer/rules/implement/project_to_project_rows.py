"""A projection becomes a vectorized projection that keeps its input's order."""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.logical import Project
from optimizer.algebra.physical import PhysicalOperator, ProjectRows
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, ImplementationRule, RuleContext, node


class ProjectToProjectRows(ImplementationRule):
    name = "project_to_project_rows"
    pattern = node(Project, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound.op:
            case Project(items):
                return (ProjectRows(items),)
        return ()
