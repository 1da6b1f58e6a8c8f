"""Where a plan has part of an order or grouping, only the runs are sorted."""

from optimizer.algebra import LogicalProps, PartialSort, Sort, column_set
from optimizer.algebra.traits import ANY, TraitSet, ascending, grouped, satisfies
from optimizer.rules.catalog import ENFORCERS
from optimizer.rules.enforce.moves import enforcers
from tests.search.test_trait_plans import NO_HASHING, planned, sorts


def test_what_the_stored_order_lacks_is_sorted_in_runs() -> None:
    assert sorts(planned("select a, b, c from ab order by a, c desc")) == ["partial_sort c desc within a"]
    assert sorts(planned("select a, b, c from ab order by a, b, c")) == ["partial_sort c within a, b"]
    assert sorts(planned("select a, b, c from ab order by a desc, c")) == ["sort a desc, c"]
    assert sorts(planned("select a, b, c from ab order by c, a")) == ["sort c, a"]
    assert sorts(planned("select a, b, c from ab order by a, c desc", "partial_sort")) == ["sort a, c desc"]


def test_groups_are_completed_in_runs() -> None:
    query = planned("select c, a, count(*) from ab group by c, a", *NO_HASHING)
    assert sorts(query) == ["partial_sort c within a"]
    assert [node.op.name for node in query.plan.walk()][-3:] == ["streaming_aggregate", "partial_sort", "table_scan"]


def test_a_merge_join_gives_the_first_keys_of_an_order() -> None:
    query = planned("select l.id, l.y, r.y from f l join f r on l.id = r.id order by l.id, l.y, r.y", *NO_HASHING)
    assert sorts(query)[0] in ("partial_sort y within y, id", "partial_sort y within id, y")
    assert query.plan.inputs[0].op.name == "merge_join"


def test_the_default_plan_of_a_limit_reads_only_the_first_runs() -> None:
    query = planned("select a, c from ab order by a, c limit 10", "limit_to_top_k")
    assert [node.op.name for node in query.plan.walk()] == ["limit_rows", "partial_sort", "table_scan"]


def test_every_move_needs_strictly_less_and_gives_what_is_required() -> None:
    props = LogicalProps(0b111111)
    offers = (TraitSet(ascending((3, 1, 5))), TraitSet(ascending((0, 1))), TraitSet(ascending((2,))))
    for required in (
        TraitSet(ascending((0, 1))),
        TraitSet(ascending((3, 1, 0, 2, 4))),
        TraitSet(ascending((5,))),
        grouped(0b11),
        grouped(0b111110),
    ):
        moves = enforcers(required, offers, props, ENFORCERS)
        assert isinstance(moves[0].op, Sort)
        assert moves[0].needs == ANY
        for op, needs, delivers in moves:
            assert satisfies(delivers, required, props)
            assert not satisfies(needs, required, props)
            if isinstance(op, PartialSort):
                assert needs in (grouped(op.prefix), TraitSet(required.collation[: op.prefix.bit_count()]))
                assert not op.prefix & column_set(k.column for k in op.order)
        assert len({needs for _, needs, _ in moves}) == len(moves)
    assert not enforcers(ANY, offers, props, ENFORCERS)
    assert not enforcers(grouped(1), offers, props, ())


def test_a_long_order_has_its_first_key_and_offered_beginnings_tried() -> None:
    props = LogicalProps(0b111111)
    required = TraitSet(ascending((3, 1, 5, 2, 4)))
    lengths = [
        move.op.prefix.bit_count()
        for move in enforcers(required, (TraitSet(ascending((3, 1, 5, 0))),), props, ENFORCERS)
        if isinstance(move.op, PartialSort)
    ]
    assert lengths == [3, 1]
