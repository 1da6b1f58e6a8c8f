"""unnest(string_split(x, ',')): a row for each part of a text.

No list is made. A recursion counts, beside the columns of each row, from 1 to the number of parts; split_part takes them:

    project part = split_part(x, ',', n)   over   recursion: each row with n = 1, then with n + 1 while n < parts of x
"""

from typing import Any, NamedTuple

from sqlglot import exp

from optimizer.algebra.building import filtered, passed, reference
from optimizer.algebra.columns import ColumnId, column_ids
from optimizer.algebra.ctes import references
from optimizer.algebra.domain import domain
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Project, ProjectItem
from optimizer.algebra.logical_joins import Apply, Join
from optimizer.algebra.predicates import compare, conjunction
from optimizer.algebra.query import OutputColumn
from optimizer.algebra.rebuild import copy_tree, renamed_scalar
from optimizer.algebra.scalar_trees import bound_to
from optimizer.algebra.scalars import BOOL, Call, ColumnRef, Literal, OuterRef, Scalar
from optimizer.algebra.spools import CteReference, Recursion, Spool, SpoolColumn
from optimizer.algebra.subqueries import has_subquery
from optimizer.algebra.trees import Tree
from optimizer.algebra.types import INT64, STRING
from optimizer.algebra.value_ranges import Ranges
from optimizer.sql.coerce import text_of
from optimizer.sql.context import Bound, Context, Ctes, Definition
from optimizer.sql.ctes import read
from optimizer.sql.expressions import ExpressionBinder
from optimizer.sql.windows import refuse_windows

_TITLE = "unnest"


class Split(NamedTuple):
    """The call string_split(text, separator)."""

    text: Scalar
    separator: str
    node: Any

    @property
    def parts(self) -> Scalar:
        """How many there are, NULL for NULL; without a separator one for each character, and for the empty text one."""
        length = Call("length", (self.text,), INT64)
        if not self.separator:
            return length
        others = Call(
            "length", (Call("replace", (self.text, Literal(self.separator, STRING), Literal("", STRING)), STRING),), INT64
        )
        separators = Call("//", (Call("-", (length, others), INT64), Literal(len(self.separator), INT64)), INT64)
        return Call("+", (separators, Literal(1, INT64)), INT64)


def is_split(node: Any) -> bool:
    """Whether an AST node is unnest(string_split(...)), in FROM or as an item of SELECT."""
    inner = node.this if isinstance(node, exp.Lateral) else node
    parts = [inner.this] if isinstance(inner, exp.Explode) else inner.expressions if isinstance(inner, exp.Unnest) else []
    return len(parts) == 1 and isinstance(parts[0], exp.Split)


def bind_split(binder: ExpressionBinder, node: Any) -> Split:
    """The string_split below the unnest `node`."""
    source = binder.source
    call = node.find(exp.Split)
    source.only(call, "this", "expression")
    separator = text_of(source, binder.operand(call.expression), "string_split")
    if not isinstance(separator, Literal) or separator.value is None:
        raise source.unsupported("string_split by what is no constant", call, "write string_split(x, ',')")
    text = Ranges(lambda _: None).safe(text_of(source, binder.operand(call.this), "string_split"))  # length(x) - 2 does not raise
    if text.volatile or has_subquery(text):
        raise source.unsupported("unnest of a volatile function or a subquery", call, "compute the text in a derived table")
    refuse_windows(source, [text], "unnest", call)
    return Split(text, separator.value, call)


def unnested(context: Context, tree: Tree, split: Split, part: ColumnId, outer: bool = False) -> Tree:
    """The rows of `tree`, each with every part of its text in the column `part`. `outer`: a row whose text is NULL has the part
    NULL; otherwise it goes. Of joins it is made below, where the text is, if it cannot raise for rows without partner."""
    if split.text.outer:
        return Tree(Join(JoinKind.LEFT if outer else JoinKind.INNER, ()), (tree, _of_outer(context, split, part)))
    needed = split.text.columns if not split.text.raises else 0
    match tree:
        case Tree(Join() | Apply() as join, (Tree() as left, right)) if needed and not needed & ~left.columns:
            if join.kind in (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI):
                return Tree(join, (unnested(context, left, split, part, outer), right))
        case Tree(Join(kind=JoinKind.INNER) as join, (left, Tree() as right)) if needed and not needed & ~right.columns:
            return Tree(join, (left, unnested(context, right, split, part, outer)))
    if tree.outer or tree.volatile:
        what = "a volatile function" if tree.volatile else "a subquery that reads columns around it"
        raise context.source.unsupported(f"unnest beside {what}", split.node)
    if any(table.spool == op.spool for table in context.working.values() for op in references(tree)):
        raise context.source.unsupported("unnest beside the recursive CTE that it is in", split.node)
    columns, spool = context.columns, context.new_spool()
    carried = tuple(column_ids(tree.columns))  # these are the recursion's: below it they get other names
    below, new = copy_tree(tree, columns)
    numbers = [columns.new("n", INT64, False).id for _ in range(3)]
    first = (*(new[id] for id in carried), numbers[0])
    read_back = tuple(columns.copy(id) for id in first)
    then = (*read_back[:-1], numbers[1])
    if not outer:
        below = filtered(conjunction([Call("is_not_null", (renamed_scalar(split.text, new),), BOOL)]), below)
    start = Tree(Project((*passed(first[:-1], columns), ProjectItem(numbers[0], Literal(1, INT64)))), (below,))
    last = ColumnRef(read_back[-1], INT64)
    more = compare("<", last, renamed_scalar(split.parts, dict(zip(carried, read_back[:-1], strict=True))))
    rows = filtered(conjunction([more]), Tree(CteReference(spool, _TITLE, tuple(map(SpoolColumn, read_back, first)))))
    following = ProjectItem(numbers[1], Call("+", (last, Literal(1, INT64)), INT64))
    step = Tree(Project((*passed(read_back[:-1], columns), following)), (rows,))
    recursion = Recursion(spool, _TITLE, True, (*carried, numbers[2]), (first, then))
    tree = Tree(recursion, (Tree(Spool(spool, _TITLE, True), (start,)), step))
    outputs = tuple(OutputColumn(columns[id].name, id) for id in recursion.columns)
    cte = Ctes(_TITLE, split.node, (), None, None, materialized=True)  # recursive ones are
    definition = context.definitions[id(cte)] = Definition(cte, Bound(tree, outputs), context.new_spool())
    counted = read(context, cte, definition.bound, definition.spool).tree
    args = split.text, Literal(split.separator, STRING), ColumnRef(numbers[2], INT64)
    return Tree(Project((*passed(carried, columns), ProjectItem(part, Call("split_part", args, STRING)))), (counted,))


def _of_outer(context: Context, split: Split, part: ColumnId) -> Tree:
    """The parts of a text that a query around this one has in the row at hand: those of the texts of all rows of its FROM, and of
    these the ones whose text is made of the same values."""
    text, columns = split.text, context.columns
    around = context.enclosing.and_around() if context.enclosing is not None else ()
    rows = next((b.scope.rows for b in around if b.scope.rows is not None and not text.outer & ~b.scope.rows.columns), None)
    if rows is None or rows.outer or rows.volatile or text.columns or text.raises:
        hint = "join in FROM: FROM t, unnest(string_split(t.x, ',')) AS v(part)"
        raise context.source.unsupported("unnest of such a column of a query around it", split.node, hint)
    texts, new = domain(rows, text.outer, columns, exact=False)
    parts = unnested(context, texts, split._replace(text=renamed_scalar(bound_to(text, text.outer), new)), part)
    same = [compare("is_not_distinct_from", reference(here, columns), OuterRef(id, columns[id].type)) for id, here in new.items()]
    return filtered(conjunction(same), parts)
