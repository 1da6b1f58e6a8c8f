"""Executing every expression of a memo: all expressions of a group must give the same rows. Rules of the pre-pass by name."""

from collections.abc import Mapping

import pyarrow as pa

from optimizer.algebra.columns import Columns, column_ids
from optimizer.memo.memo import Memo
from optimizer.memo.mexpr import LogicalExpr
from optimizer.prepass.instructions import rules_of
from optimizer.prepass.program import PROGRAM
from optimizer.rules.interface import RewriteRule
from tests.reference.compare import assert_same_bag
from tests.reference.naive import Row, run_operator
from tests.reference.props import assert_props_hold


def rules_named(names: str) -> tuple[RewriteRule, ...]:
    """Rules of the program, by their names with spaces between them."""
    known = {rule.name: rule for rule in rules_of(PROGRAM)}
    return tuple(known[name] for name in names.split())


def assert_groups_are_equivalent(memo: Memo, columns: Columns, tables: Mapping[str, pa.Table]) -> int:
    """Run every expression over the rows of its input groups. Returns how many there were.

    The rows of a group are those of its first expression; so if no expression differs from the first of its group, every plan
    of the memo, whatever it picks in each group, gives the same rows.
    """
    rows: dict[int, list[Row]] = {}

    def evaluate(mexpr: LogicalExpr) -> list[Row]:
        inputs = [memo.find(gid) for gid in mexpr.inputs]
        for gid in inputs:
            if gid not in rows:
                rows[gid] = evaluate(memo.group(gid).logical[0])
        leaves = [memo.binding_leaf(gid) for gid in inputs]
        return run_operator(mexpr.op, [rows[gid] for gid in inputs], list(leaves), tables)

    count = 0
    for group in memo.live_groups():
        ids = list(column_ids(group.props.columns))
        expected: list[tuple] | None = None
        for mexpr in group.logical:
            found = evaluate(mexpr)
            assert_props_hold(f"group {group.id}, {mexpr.op.name} by {mexpr.rule}", group.props, found)
            bag = [tuple(row[c] for c in ids) for row in found]
            if expected is None:
                expected, rows[group.id] = bag, found
                continue
            try:
                assert_same_bag(expected, bag)
            except AssertionError as error:
                which = f"{mexpr.op.name} {mexpr.op.describe(columns.label)} over {mexpr.inputs}"
                raise AssertionError(f"group {group.id}, {mexpr.rule}: {which}\n{error}") from error
            count += 1
    return count
