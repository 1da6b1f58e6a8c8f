"""What stands between the parentheses of OVER (...), with named windows put in.

    WINDOW w AS (PARTITION BY p), v AS (w ORDER BY o)      OVER v      OVER (w ORDER BY x ROWS 1 PRECEDING)

A window may refer to another, defined before or behind it: it takes over the partition, and the order if it has none of its own.
One with a frame can only be used as it is (OVER w).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlglot import exp

from optimizer.sql.source import Source, listing


class WindowText(NamedTuple):
    """The clauses of a window as they are written: lists of expressions, an Order node, a WindowSpec node."""

    partition: tuple[Any, ...]
    order: Any
    frame: Any


def check_windows(source: Source, select: Any) -> None:
    """Raises SqlError for names in the WINDOW clause that are unknown or given twice, and for windows that make no sense."""
    known = named_windows(select)
    seen: set[str] = set()
    for node in select.args.get("windows") or ():
        source.only(node, "this", "partition_by", "order", "spec", "alias")
        name = node.this.name
        if name.lower() in seen:
            raise source.error(f'window "{name}" is defined twice', node.this)
        seen.add(name.lower())
        window_text(source, node, known, (name.lower(),))


def named_windows(select: Any) -> dict[str, Any]:
    """The nodes of the WINDOW clause of a SELECT, by lower-case name."""
    return {node.this.name.lower(): node for node in select.args.get("windows") or ()} if select is not None else {}


def window_text(source: Source, node: Any, known: dict[str, Any], within: tuple[str, ...] = ()) -> WindowText:
    """The clauses of the window `node`, those of the window it refers to included; `within` are the windows that refer to it."""
    own = WindowText(tuple(node.args.get("partition_by") or ()), node.args.get("order"), node.args.get("spec"))
    base_name = node.args.get("alias")
    if base_name is None:
        return own
    name = base_name.name.lower()
    if name in within:
        raise source.error(f'window "{base_name.name}" refers to itself', base_name, "give it clauses of its own")
    if name not in known:
        listed = f"the windows are {listing(known, near=base_name.name)}"
        hint = listed if known else "name it after FROM: WINDOW w AS (PARTITION BY ...)"
        raise source.error(f'unknown window "{base_name.name}"', base_name, hint)
    base = window_text(source, known[name], known, (*within, name))
    if own == WindowText((), None, None) and not _in_parentheses(source, base_name):
        return base
    if base.frame is not None:
        hint = f"write OVER {base_name.name} to use it as it is, or leave the frame out of its definition"
        raise source.error(f'window "{base_name.name}" has a frame, so that nothing can be added to it', base_name, hint)
    for clause, mine, theirs in (("PARTITION BY", own.partition, base.partition), ("ORDER BY", own.order, base.order)):
        if mine and (theirs or clause == "PARTITION BY"):
            raise source.error(f'{clause} cannot be changed in window "{base_name.name}"', base_name)
    return WindowText(base.partition, own.order or base.order, own.frame)


def _in_parentheses(source: Source, name: exp.Expression) -> bool:
    """Whether it is OVER (w) and not OVER w: the parser tells them apart no more."""
    span = source.span(name)
    return span is not None and source.sql[: span[0]].rstrip().endswith("(")
