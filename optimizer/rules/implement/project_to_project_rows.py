"""A projection becomes a vectorized projection that keeps its input's order."""

from __future__ import annotations

from optimizer.algebra.logical import Project
from optimizer.algebra.physical import ProjectRows
from optimizer.rules.interface import ANY, ImplementationRule, node


class ProjectToProjectRows(ImplementationRule):
    name = "project_to_project_rows"
    pattern = node(Project, ANY)
    to = ProjectRows
