"""ORDER BY, LIMIT and OFFSET. NULLs come last in both directions unless the text says otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlglot import exp

from optimizer.algebra.logical import Limit
from optimizer.algebra.query import OutputColumn
from optimizer.algebra.traits import Collation, SortKey
from optimizer.algebra.trees import Tree
from optimizer.sql.coerce import bare
from optimizer.sql.context import Bound, Context
from optimizer.sql.source import Source, listing, suggestion

_MOST_ROWS = (1 << 63) - 1


def sort_terms(source: Source, clause: Any, *handled: str) -> list[tuple[Any, bool, bool]]:
    """Each term of an ORDER BY: expression, descending, NULLs first. `handled`: parts of the node that the caller reads."""
    source.only(clause, "expressions", *handled)
    terms = []
    for term in clause.expressions:
        source.only(term, "this", "desc", "nulls_first")
        terms.append((bare(term.this), bool(term.args.get("desc")), bool(term.args.get("nulls_first"))))
    return terms


def output_position(source: Source, node: Any, outputs: int, clause: str) -> int | None:
    """The 0-based output column that a whole number in ORDER BY or GROUP BY names; None when `node` is no constant."""
    negative = isinstance(node, exp.Neg)
    literal = bare(node.this) if negative else node
    if isinstance(literal, exp.Null) or (isinstance(literal, exp.Literal) and not literal.this.isdigit()):
        if clause == "GROUP BY":
            return None
        raise source.error("ORDER BY a constant has no effect", node, "order by a column, an expression or a position")
    if not isinstance(literal, exp.Literal) or literal.is_string:
        if isinstance(literal, exp.Literal) and clause == "ORDER BY":
            raise source.error("ORDER BY a constant has no effect", node, "order by a column, an expression or a position")
        return None
    position = int(literal.this) if len(literal.this) < 10 else 1 << 31
    if negative or not 1 <= position <= outputs:
        raise source.error(
            f"{clause} position {'-' if negative else ''}{literal.this} is out of range", node, f"positions are 1 to {outputs}"
        )
    return position - 1


def is_all(node: Any) -> bool:
    """Whether an ORDER BY term is ALL."""
    return isinstance(node, exp.Var) and node.name.upper() == "ALL"


def collation(keys: Iterable[SortKey]) -> Collation:
    """The keys in order, a column that already occurred left out."""
    result: dict[int, SortKey] = {}
    for key in keys:
        result.setdefault(key.column, key)
    return tuple(result.values())


def order_by_outputs(context: Context, clause: Any, outputs: Sequence[OutputColumn]) -> Collation:
    """ORDER BY after a set operation or VALUES: terms are positions or names of output columns."""
    source = context.source
    keys = []
    for node, descending, nulls_first in sort_terms(source, clause):
        if is_all(node):
            keys += [SortKey(o.id, descending, nulls_first) for o in outputs]
            continue
        position = output_position(source, node, len(outputs), "ORDER BY")
        if position is None:
            if not (isinstance(node, exp.Column) and node.args.get("table") is None and not isinstance(node.this, exp.Star)):
                raise source.unsupported(
                    "ORDER BY an expression after a set operation",
                    node,
                    "put the set operation into FROM (...), or order by position",
                )
            name = node.name.lower()
            position = next((i for i, o in enumerate(outputs) if o.name.lower() == name), None)
            if position is None:
                close = suggestion(node.name, [o.name for o in outputs])
                hint = f"the result has {listing([o.name for o in outputs])}" + (f'; did you mean "{close}"?' if close else "")
                raise source.error(f'unknown column "{node.name}"', node, hint)
        keys.append(SortKey(outputs[position].id, descending, nulls_first))
    return collation(keys)


def limited(context: Context, node: Any, bound: Bound) -> Bound:
    """The LIMIT and OFFSET of `node` over `bound`, whose order decides which rows remain."""
    source = context.source
    count, offset = None, 0
    limit, skip = node.args.get("limit"), node.args.get("offset")
    if limit is not None:
        options = limit.args.get("limit_options")
        if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
            raise source.unsupported("LIMIT with PERCENT or WITH TIES", limit, "give a number of rows")
        source.only(limit, "expression", "count", "limit_options", ignored=("direction",))
        count = _whole_number(source, limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.expression, "LIMIT")
        if isinstance(limit, exp.Fetch) and limit.args.get("count") is None:
            count = 1
    if skip is not None:
        source.only(skip, "expression")
        offset = _whole_number(source, skip.expression, "OFFSET") or 0
    if count is None and not offset:
        return bound
    return bound._replace(tree=Tree(Limit(bound.order, offset, count), (bound.tree,)))


def _whole_number(source: Source, node: Any, clause: str) -> int | None:
    """A count of rows; None for ALL or NULL."""
    node = bare(node)
    if node is None or isinstance(node, exp.Null) or is_all(node):
        return None
    if isinstance(node, exp.Literal) and not node.is_string and node.this.replace("_", "").isdigit():
        return min(int(node.this.replace("_", "")[:30]), _MOST_ROWS)
    if isinstance(node, exp.Neg):
        raise source.error(f"{clause} cannot be negative", node)
    if isinstance(node, exp.Literal):
        raise source.error(f"{clause} takes a whole number", node)
    raise source.unsupported(f"{clause} with an expression", node, "write the number of rows")
