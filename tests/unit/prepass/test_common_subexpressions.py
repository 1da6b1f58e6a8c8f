"""Which parts of a plan compute the same rows more than once, and which shapes count as equal."""

import pyarrow as pa

from experiments.commands.common_subexpressions import common_subexpressions
from optimizer.algebra import AggregateCall, Apply, Call, ColumnRef, Join, JoinKind, Literal, OuterRef, Tree, compare
from optimizer.algebra.logical import Aggregate, AggregateItem, Filter, Project, ProjectItem, Scan, ScanColumn
from optimizer.algebra.rebuild import copy_tree
from optimizer.prepass.shapes import Shapes
from tests.unit.prepass.small_trees import BIG, columns_of, cross, limit, scan, where


def table(x: int, y: int, alias: str = "t", name: str = "t") -> Tree:
    return Tree(Scan(name, alias, (ScanColumn(x, "x"), ScanColumn(y, "y")), keys=(1 << x,), not_null=1 << x))


def equal(left: int, right: int) -> tuple:
    return (compare("=", ColumnRef(left, BIG), ColumnRef(right, BIG)),)


def same(one: Tree, other: Tree) -> bool:
    shapes = Shapes()
    return shapes.of(one) == shapes.of(other)


def test_columns_are_called_by_their_places() -> None:
    assert same(table(0, 1, "a"), table(2, 3, "b"))
    assert same(table(0, 1), Tree(Scan("t", "t", (ScanColumn(3, "y"), ScanColumn(2, "x")))))
    assert not same(table(0, 1), table(0, 1, name="other"))
    assert same(where(0, 5, table(0, 1)), where(2, 5, table(2, 3)))
    assert not same(where(0, 5, table(0, 1)), where(3, 5, table(2, 3)))
    assert not same(where(0, 5, table(0, 1)), where(2, 6, table(2, 3)))


def test_joins_of_equal_inputs_differ_by_what_they_join_on() -> None:
    def join(a: int, b: int) -> Tree:
        return Tree(Join(JoinKind.INNER, equal(a, b)), (table(0, 1), table(2, 3)))

    other = Tree(Join(JoinKind.INNER, equal(7, 4)), (table(6, 7), table(4, 5)))
    assert not same(join(0, 2), join(0, 3)) and same(join(1, 2), other)
    assert not same(join(0, 3), other)


def test_the_order_of_operands_follows_the_names_of_columns() -> None:
    """Where both read 9 and 10, texts sort #10 before #9."""

    def either(x: int, y: int) -> Tree:
        parts = compare("<", ColumnRef(x, BIG), ColumnRef(y, BIG)), compare("=", ColumnRef(y, BIG), Literal(3, BIG))
        return Tree(Filter((Call("or", parts, pa.bool_()),)), (table(x, y),))

    assert same(either(0, 1), either(9, 10)) and same(either(0, 1), either(10, 9))


def test_a_copied_tree_has_the_same_shape() -> None:
    columns = columns_of(8)
    total = AggregateItem(5, AggregateCall("sum", (ColumnRef(4, BIG),), False, None, pa.decimal128(38, 0)))
    doubled = Project((ProjectItem(0, ColumnRef(0, BIG)), ProjectItem(4, Call("+", (ColumnRef(1, BIG), ColumnRef(1, BIG)), BIG))))
    tree = Tree(Aggregate((0,), (total,)), (Tree(doubled, (where(1, 3, table(0, 1)),)),))
    copied, _ = copy_tree(tree, columns)
    shapes = Shapes()
    assert shapes.of(tree) == shapes.of(copied)
    assert all(shapes.columns(tree)[i] != c for i, c in enumerate(shapes.columns(copied)))
    assert len(shapes.columns(tree)) == len(shapes.columns(copied))


def test_columns_of_enclosing_queries_keep_their_names() -> None:
    def reading(outer: int, own: int) -> Tree:
        return Tree(Filter((compare("=", ColumnRef(own, BIG), OuterRef(outer, BIG)),)), (table(own, own + 1),))

    assert same(reading(0, 2), reading(0, 4)) and not same(reading(0, 2), reading(1, 2))
    assert not same(reading(0, 2), where(2, 0, table(2, 3)))


def test_fixed_columns_are_told_apart() -> None:
    shapes = Shapes(fixed=4)
    assert shapes.of(table(0, 1)) != shapes.of(table(2, 3))
    assert shapes.of(table(4, 5)) == shapes.of(table(6, 7))
    assert shapes.of(cross(table(0, 1), table(4, 5))) == shapes.of(cross(table(0, 1), table(8, 9)))


def found(tree: Tree) -> list[tuple[str, int, int]]:
    return [(each.tree.op.name, each.times, each.vertices) for each in common_subexpressions(tree)]


def test_nothing_is_common_in_most_plans() -> None:
    assert found(cross(where(0, 1, scan(0)), where(1, 1, scan(1)))) == []
    assert found(cross(table(0, 1), table(2, 3))) == [], "a table read twice is nothing to share"
    assert found(scan(0)) == []


def test_equal_trees_and_equal_shapes() -> None:
    assert found(cross(where(0, 1, table(0, 1)), where(0, 1, table(0, 1)))) == [("filter", 2, 1)]
    assert found(cross(where(0, 1, table(0, 1)), where(2, 1, table(2, 3)))) == [("filter", 2, 2)]


def test_only_the_largest_parts_are_reported() -> None:
    def part(id: int) -> Tree:
        return limit(5, where(id, 1, table(id, id + 1)))

    assert found(cross(part(0), part(2))) == [("limit", 2, 2)]
    assert found(cross(part(0), cross(part(2), where(4, 1, table(4, 5))))) == [("limit", 2, 2), ("filter", 3, 3)]
    pair = [cross(where(i, 1, table(i, i + 1)), where(i + 2, 1, table(i + 2, i + 3))) for i in (0, 4)]
    assert found(cross(limit(1, pair[0]), limit(2, pair[1]))) == [("join", 2, 2), ("filter", 4, 4)]


def test_a_shared_vertex_counts_once_for_each_way_to_it() -> None:
    shared = where(0, 1, table(0, 1))
    tree = cross(cross(shared, limit(3, shared)), cross(shared, limit(3, shared)))
    assert found(tree) == [("join", 2, 1), ("filter", 4, 1)]


def test_volatile_parts_are_not_common() -> None:
    def dice(id: int) -> Tree:
        chance = compare("<", Call("random", (), pa.float64()), Literal(0.5, pa.float64()))
        return Tree(Filter((chance,)), (where(id, 1, table(id, id + 1)),))

    assert dice(0).volatile
    assert found(cross(dice(0), dice(2))) == [("filter", 2, 2)]
    assert [each.tree.op.predicate for each in common_subexpressions(cross(dice(0), dice(2)))] == [
        where(0, 1, scan(0)).op.predicate
    ]


def test_inside_applies() -> None:
    inner = where(2, 1, table(2, 3))
    tree = Tree(Apply(JoinKind.SEMI, ()), (where(0, 1, table(0, 1)), inner))
    assert found(tree) == [("filter", 2, 2)]
