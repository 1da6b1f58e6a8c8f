"""Expressions: one AST node to one scalar, by a table from node type to handler.

Handlers live beside their kin (`arithmetic`, `comparisons`, `conditionals`, `dates`, `calls`, `aggregates`, `windows`,
`subqueries`); those for names, constants and AND/OR/NOT are here. A node type without handler is `Unsupported` under its own
name. The binder also knows what stands around it, and so which query a name or an aggregate in a subquery belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

from sqlglot import exp

from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids, column_set
from optimizer.algebra.scalar_trees import bound_to, map_children, walk
from optimizer.algebra.scalars import (
    BOOL,
    FALSE,
    TRUE,
    AggregateCall,
    Call,
    ColumnRef,
    Literal,
    Once,
    OuterRef,
    Scalar,
    Slot,
    WindowCall,
)
from optimizer.algebra.types import NULL, STRING, is_opaque, type_name
from optimizer.sql import (
    aggregates,
    arithmetic,
    calls,
    casts,
    comparisons,
    conditionals,
    dates,
    grouping_call,
    subqueries,
    windows,
)
from optimizer.sql.coerce import Operand, bare, convert, meet, negated, truth
from optimizer.sql.instead import A_VALUE, FUNCTIONS_PAGE, INSTEAD
from optimizer.sql.literals import DoesNotFit, number_literal
from optimizer.sql.rows import row_items
from optimizer.sql.scope import Scope, in_schema, unknown
from optimizer.sql.source import form_name

if TYPE_CHECKING:
    from optimizer.sql.context import Context

_LONG = 30  # parts of an expression that is computed once rather than repeated: repeated again, it would grow without end
MAX_DEPTH = 150  # levels of operators: later stages recurse over scalars on Python's stack


class ExpressionBinder:
    """Binds the expressions of one clause.

    `clause` names it in messages; `aggregates` says whether aggregate calls may stand here; `aliases` are select-list
    names that an unqualified name means when no column has it. `refs` keeps, for each column id met, where it was
    written first, so that a later check can point at it.

    A subquery in the clause is bound with this binder around it (`outer` of the binders inside): a name it does not know
    itself means a column here. `claims` are the aggregates over columns of this query that stand in subqueries, each with
    the column that will hold it; all clauses of one SELECT share them, and `refs`, where they are looked up later.
    """

    def __init__(
        self, context: Context, scope: Scope, clause: str, aggregates: bool = False, aliases: dict[str, Scalar] | None = None,
        prefer: Callable[[Scalar], bool] | None = None, claims: dict[AggregateCall, ColumnId] | None = None,
        refs: dict[ColumnId, Any] | None = None,
    ) -> None:  # fmt: skip
        """`prefer(column)` False: an alias of the same name wins over that column (HAVING, for columns not grouped by)."""
        self.context, self.source, self.scope, self.clause = context, context.source, scope, clause
        self.aggregates, self.aliases, self.prefer = aggregates, aliases if aliases is not None else {}, prefer
        self.claims = claims if claims is not None else {}
        self.outer: ExpressionBinder | None = context.enclosing
        self.inside_aggregate = False
        self.depth = 0
        self.current: Any = None
        self.refs = refs if refs is not None else {}
        self.unnested: tuple[Any, Scalar] | None = None  # an unnest, and its value in each of the rows that come of it

    def bind(self, node: Any) -> Scalar:
        """The scalar for `node`. Raises SqlError or Unsupported with a caret under the offending part."""
        node = bare(node)
        if node is None:
            raise self.source.error("an expression is missing", self.current, f"something is left out in {self.clause}")
        handler = HANDLERS.get(type(node))
        if handler is None:
            if self.unnested is not None and self.unnested[0] is node:
                return self.unnested[1]
            raise self.unknown_form(node)
        self.current = node
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.source.error(f"the expression is nested more than {MAX_DEPTH} levels deep", node, "split it up")
        scalar = handler(self, node)
        self.depth -= 1
        return scalar

    def operand(self, node: Any) -> Operand:
        """Of an AST node, or one that is bound already."""
        return node if node.__class__ is Operand else Operand(self.context.bare_null(self.bind(node)), node)

    def operands(self, nodes: Sequence[Any]) -> list[Operand]:
        return [self.operand(n) for n in nodes]

    def truth(self, node: Any) -> Scalar:
        """The node as a condition."""
        return truth(self.source, self.operand(node))

    def convert(self, node: Any, type: Any) -> Scalar:
        return convert(self.source, self.operand(node), type)

    def meet(
        self, operands: Sequence[Operand], what: str, comparing: bool = False, strings_yield: bool = False
    ) -> tuple[list[Scalar], Any]:
        return meet(self.source, operands, what, comparing, strings_yield)

    def once(self, operands: Sequence[Operand], make: Callable[[Sequence[Operand]], Scalar]) -> Scalar:
        """What `make` makes of operands that it may repeat: volatile and long ones are computed once. Operand i is slot i, so
        that equal expressions are equal; none holds a slot of a form around it, since a form binds its operands first."""
        kept = [(i, operand.scalar) for i, operand in enumerate(operands) if operand.scalar.volatile or _is_long(operand.scalar)]
        given = list(operands)
        for i, scalar in kept:
            given[i] = given[i]._replace(scalar=Slot(i, scalar.type))
        made = make(given)
        for i, scalar in kept:
            made = Once(i, scalar, made)
        return made

    def column(self, node: Any) -> Scalar:
        """What the name of an AST column means: a column or alias here, else of the nearest query around that has one."""
        for binder in self.and_around():
            scalar = binder._here(node, from_inside=binder is not self)
            if scalar is not None:
                return scalar if binder is self else binder.seen_from_inside(scalar, node)
        around = list(self.and_around())
        relations = [relation for binder in around for relation in binder.scope.relations]
        raise unknown(self.source, relations, [alias for binder in around for alias in binder.aliases], node)

    def refuse_field(self, node: Any) -> NoReturn:
        """Of `a.b.c`: a field of the column `a.b`, if there is one that has fields."""
        table, name = node.args["db"].name, node.args["table"].name
        meant = [scalar for binder in self.and_around() for scalar in binder.scope.lookup(table, name)]
        if meant and is_opaque(meant[0].type):
            raise self.source.unsupported(f'"{node.sql()}", a field of a column of type {type_name(meant[0].type)},', node)
        hint = f'the column "{table}.{name}" has no fields' if meant else "write column or table.column"
        raise self.source.error(f'unknown column "{node.sql()}"', node, hint)

    def and_around(self) -> Iterator[ExpressionBinder]:
        """This binder and those around it, from the inside out."""
        binder: ExpressionBinder | None = self
        while binder is not None:
            yield binder
            binder = binder.outer

    def _here(self, node: Any, from_inside: bool = False) -> Scalar | None:
        """The column or, for a bare name, the alias that the AST column means in this clause; None when there is none."""
        name = node.name
        table = node.args["table"].name if node.args.get("table") is not None else None
        alias = self.aliases.get(name.lower()) if table is None else None
        if table is None and self.clause != "HAVING" and self.scope.relation(name) and not self.scope.lookup(None, name):
            raise unknown(self.source, self.scope.relations, (), node)  # the relation is meant, whatever else has the name
        if alias is not None:
            found = self.scope.lookup(None, name)
            hidden = bool(found) and self.prefer is not None and not self.inside_aggregate and not self.prefer(found[0])
            if not found or (hidden and not from_inside):
                if alias.volatile:
                    raise self.source.unsupported(
                        f'using "{name}", an alias of a volatile expression,', node, "compute it in a derived table first"
                    )
                if not self.aggregates or self.inside_aggregate:
                    _refuse_aggregate(self, alias, name, node)
                return alias
        scalar = self.scope.find(self.source, table, name, node)
        if scalar is not None and not self.inside_aggregate:  # several columns are one merged by FULL JOIN ... USING
            for id in column_ids(scalar.columns):
                self.refs.setdefault(id, node)
        return scalar

    def seen_from_inside(self, scalar: Scalar, node: Any) -> Scalar:
        """A scalar of this clause as a subquery in it has to write it: over outer columns."""
        match scalar:
            case ColumnRef():
                return OuterRef(scalar.id, scalar.type)
            case AggregateCall():
                return self.claimed(scalar)
            case WindowCall() | grouping_call.GroupingCall():
                what = "a window function" if isinstance(scalar, WindowCall) else "GROUPING"
                hint = "compute it in a derived table first"
                raise self.source.unsupported(f"using {what} of an enclosing query", node, hint)
        return map_children(scalar, lambda child: self.seen_from_inside(child, node))

    def claimed(self, call: AggregateCall) -> Scalar:
        """The reference to an aggregate of this query from a subquery in it."""
        id = self.claims.get(call)
        if id is None:
            id = self.claims[call] = self.context.columns.new(call.function, call.type, call.function != "count").id
        return OuterRef(id, call.type)

    def place_aggregate(self, call: AggregateCall, node: Any) -> Scalar:
        """The aggregate call, bound here, for the query it belongs to: the innermost one whose columns it reads, this one when
        it reads none but in subqueries. Raises SqlError when the clause of that query may not hold it."""
        reads = any(isinstance(part, ColumnRef | OuterRef) for part in walk(call))
        owner = self._owner(call.columns | call.outer) if reads else self
        source = self.source
        if owner is None or owner.inside_aggregate:
            raise source.error("aggregates cannot be nested", node, "compute the inner one in a derived table")
        if not owner.aggregates:
            hint = "use HAVING to filter groups" if owner.clause == "WHERE" else None
            raise source.error(f"an aggregate cannot stand in {owner.clause}", node, hint)
        if owner is self:
            return call
        scalar = bound_to(call, owner.scope.columns)
        assert isinstance(scalar, AggregateCall), "references to other columns make no other call"
        return owner.claimed(scalar)

    def _owner(self, reads: ColumnSet) -> ExpressionBinder | None:
        """None: it is over another aggregate of the query it would belong to."""
        if not reads or self.outer is None:
            return self
        for binder in self.and_around():
            if reads & column_set(binder.claims.values()):
                return None
            if reads & binder.scope.columns:
                return binder
        raise AssertionError(f"nothing in reach has the columns {list(column_ids(reads))} of an aggregate")

    def unknown_form(self, node: Any) -> Exception:
        kind = exp.Tuple if row_items(node) is not None else type(node)
        if kind in _FORMS:
            form, hint = _FORMS[kind]
            return self.source.unsupported(form, node, hint)
        if isinstance(node, exp.Func):
            name, what = self.source.function_name(node), "aggregate" if isinstance(node, exp.AggFunc) else "function"
            return self.source.unsupported(f"the {what} {name}", node, INSTEAD.get(name, FUNCTIONS_PAGE))
        return self.source.unsupported(form_name(node), node)


def _is_long(scalar: Scalar) -> bool:
    return bool(scalar.children) and len(list(islice(walk(scalar), _LONG))) == _LONG


_FORMS: dict[Any, tuple[str, str | None]] = {
    exp.Placeholder: ("a parameter", A_VALUE),
    exp.Parameter: ("a parameter", A_VALUE),
    exp.Struct: ("a STRUCT value", None),
    exp.Array: ("a list value", None),
    exp.Tuple: ("a row value", "rows can be compared, and looked up by IN; otherwise use their columns one by one"),
    exp.Select: ("a query that is not in parentheses", "write (SELECT ...) in parentheses of its own"),
    exp.Any: ("ANY outside a comparison", "write x = ANY (SELECT ...)"),
    exp.All: ("ALL outside a comparison", "write x > ALL (SELECT ...)"),
    exp.Columns: ("COLUMNS(...)", "name the columns, or use * and * EXCLUDE (...)"),
    exp.Dot: ("field access", None),
    exp.Explode: (
        "such an unnest",
        "unnest of string_split(x, ','), a list or a series of constants may stand in FROM, or once in SELECT",
    ),
    exp.Split: ("a list value", "unnest(string_split(x, ',')) gives a row for each part, split_part(x, ',', 1) the first"),
    exp.Star: ("* inside an expression", "use count(*), or * as an item of its own in SELECT"),
    exp.Order: ("ORDER BY inside a call", None),
    exp.IgnoreNulls: ("IGNORE NULLS without OVER", "any_value(x) is the first x that is not NULL; or use FILTER"),
    exp.RespectNulls: ("RESPECT NULLS without OVER", None),
    exp.AtTimeZone: ("AT TIME ZONE", "leave it out: a TIMESTAMP has no zone, stored ones become UTC"),
    exp.Collate: ("COLLATE", "compare lower(...) with lower(...)"),
}


_OF_COLUMN = {"this", "table"}


def _column(binder: ExpressionBinder, node: Any) -> Scalar:
    if isinstance(node.this, exp.Star):
        raise binder.source.unsupported("* inside an expression", node, "use count(*), or * as an item of its own in SELECT")
    if not node.args.keys() <= _OF_COLUMN:
        if not in_schema(node):
            binder.refuse_field(node)
        binder.source.only(node, *_OF_COLUMN, "db")
    return binder.column(node)


def _refuse_aggregate(binder: ExpressionBinder, alias: Scalar, name: str, node: Any) -> None:
    in_subquery = alias.columns & column_set(binder.claims.values())
    if in_subquery or alias.flags & (AggregateCall.flag | grouping_call.GroupingCall.flag):
        where = "inside another aggregate" if binder.inside_aggregate else f"in {binder.clause}"
        hint = "use HAVING to filter groups" if binder.clause == "WHERE" else None
        raise binder.source.error(f'"{name}" is an aggregate, which cannot stand {where}', node, hint)


def _literal(binder: ExpressionBinder, node: Any) -> Scalar:
    if node.is_string:
        return Literal(node.this, STRING)
    try:
        return number_literal(node.this)
    except DoesNotFit as error:
        raise binder.source.unsupported(str(error), node, f"write {node.this}.0 or {node.this}e0 for a DOUBLE") from None
    except ValueError:
        raise binder.source.error(f"cannot read {node.this} as a number", node) from None


def _connective(binder: ExpressionBinder, node: Any) -> Scalar:
    """AND or OR: a chain is one call with many operands, found without recursion."""
    kind, parts, stack = type(node), [], [node]
    while stack:
        current = bare(stack.pop())
        if type(current) is kind:
            stack += [current.expression, current.this]
        else:
            parts.append(current)
    return Call("and" if kind is exp.And else "or", tuple(binder.truth(p) for p in parts), BOOL)


def _not(binder: ExpressionBinder, node: Any) -> Scalar:
    inner = binder.truth(node.this)
    if isinstance(inner, Call) and inner.function == "is_null":
        return Call("is_not_null", inner.args, BOOL)
    return negated(inner)


def _alias(binder: ExpressionBinder, node: Any) -> Scalar:
    raise binder.source.error("an alias cannot stand here", node.args.get("alias"), "name expressions in the SELECT list")


HANDLERS: dict[Any, Callable[[ExpressionBinder, Any], Scalar]] = {
    exp.Column: _column, exp.Literal: _literal, exp.Null: lambda binder, node: Literal(None, NULL),
    exp.Boolean: lambda binder, node: TRUE if node.this else FALSE, exp.And: _connective, exp.Or: _connective, exp.Not: _not,
    exp.Alias: _alias, **casts.HANDLERS, **arithmetic.HANDLERS, **comparisons.HANDLERS, **conditionals.HANDLERS, **dates.HANDLERS,
    **calls.HANDLERS, **aggregates.HANDLERS, **grouping_call.HANDLERS, **windows.HANDLERS, **subqueries.HANDLERS,
}  # fmt: skip
