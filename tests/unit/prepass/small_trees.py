"""Small trees and rules about counts of rows, with which a firing is easy to see."""

import pyarrow as pa

from optimizer.algebra import ColumnRef, Columns, Filter, Join, JoinKind, Limit, Literal, Node, Scan, ScanColumn, Tree, compare
from optimizer.prepass.functions import rewrite
from optimizer.prepass.hep import run_program
from optimizer.prepass.instructions import Instruction
from optimizer.prepass.report import Rewritten
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, node
from optimizer.settings import DEFAULTS, Settings

BIG = pa.int64()


def scan(id: int) -> Tree:
    return Tree(Scan(f"t{id}", f"t{id}", (ScanColumn(id, "x"),)))


def limit(count: int, below: Tree) -> Tree:
    return Tree(Limit((), 0, count), (below,))


def where(column: int, value: int, below: Tree) -> Tree:
    return Tree(Filter((compare("=", ColumnRef(column, BIG), Literal(value, BIG)),)), (below,))


def cross(left: Tree, right: Tree) -> Tree:
    return Tree(Join(JoinKind.INNER, ()), (left, right))


def columns_of(count: int) -> Columns:
    columns = Columns()
    for i in range(count):
        columns.new(f"x{i}", BIG, True)
    return columns


def run(tree: Tree, *program: Instruction, settings: Settings = DEFAULTS, columns: Columns | None = None) -> Rewritten:
    return run_program(program, tree, RuleContext(columns or columns_of(20), settings))


def steps(rewritten: Rewritten) -> list[str]:
    """The firings on limits as `rule before>after`."""
    return [f"{f.rule} {count(f.before)}>{count(f.after)}" for f in rewritten.firings]


def notes(rewritten: Rewritten) -> list[str]:
    """What is said of each batch that was stopped."""
    return [run.note for run in rewritten.batches if run.stopped]


def count(tree: Node) -> int | None:
    return tree.op.count if isinstance(tree, Tree) and isinstance(tree.op, Limit) else None


def turn(source: int, target: int) -> RewriteRule:
    """A limit of `source` rows becomes one of `target`."""

    def change(tree: Tree, context: RuleContext) -> Tree | None:
        return limit(target, tree.inputs[0]) if count(tree) == source else None

    return rewrite(node(Limit, ANY), name=f"{source}_to_{target}")(change)
