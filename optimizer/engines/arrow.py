"""The Arrow engine as the optimizer sees it: its cost models, and the orders that its plans can have without sorting."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Protocol

from optimizer.algebra.columns import ColumnId, column_set
from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.kinds import JoinKind, SetOpKind
from optimizer.algebra.logical import Aggregate, Filter, Limit, LogicalOperator, Project, Scan, SetOp, Window
from optimizer.algebra.logical_joins import AnyJoin, Join
from optimizer.algebra.physical import MergeUnion, PhysicalOperator, ProjectRows, StreamingAggregate, WindowRows
from optimizer.algebra.predicates import equality_sides
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.region_graph import RegionGraph
from optimizer.algebra.scalars import Call, ColumnRef
from optimizer.algebra.spools import With
from optimizer.algebra.traits import ANY, TraitSet, ascending, reduce_traits, satisfies
from optimizer.cost.arrow import ArrowCost
from optimizer.cost.c_mm import CMm
from optimizer.cost.c_out import COut
from optimizer.cost.coefficients import DEFAULTS
from optimizer.cost.coefficients_file import read_coefficients
from optimizer.cost.model import CostModel
from optimizer.cost.spark import SparkCost
from optimizer.errors import SettingsError
from optimizer.settings import Settings

COST_MODELS: dict[str, Callable[..., CostModel]] = {"arrow": ArrowCost, "c_out": COut, "c_mm": CMm, "spark": SparkCost}


def cost_model(settings: Settings) -> CostModel:
    """The cost model that the settings name, with its coefficients. Raises SettingsError for a bad file of coefficients."""
    make = COST_MODELS[settings.cost_model]
    if settings.cost_model not in ("arrow", "spark"):
        return make()
    coefficients = read_coefficients(settings.coefficients) if settings.coefficients else DEFAULTS
    if settings.cost_model == "arrow":
        return make(coefficients)
    if settings.spark_nodes < 1:
        raise SettingsError("setting spark_nodes is at least 1")
    return make(coefficients, settings.spark_nodes)


class Offering(Protocol):
    @property
    def props(self) -> LogicalProps: ...

    @property
    def offers(self) -> tuple[TraitSet, ...]: ...


def offers(op: LogicalOperator, props: LogicalProps, inputs: Sequence[Offering]) -> tuple[TraitSet, ...]:
    """Orders that some plan of a group can deliver without a sort, reduced in the group.

    They come from stored orders and from the keys of joins, and travel up through every operator that can keep them. The
    search asks each physical operator what such an order is worth to it (`derive`), so that orders nobody would request
    are found too. Offers depend on the group alone, not on which plans were looked at, so pruning cannot hide one.
    """
    found: list[TraitSet] = []
    joined: list[ColumnId] = []  # keys of merge joins, which deliver their order
    match op:
        case Scan(order=order):
            found = [TraitSet(order)]
        case Project(items):
            found = _through(ProjectRows(items), props, inputs[0])
        case RegionGraph(region, relations):
            joined = region.left_keys(relations)
            found = [offer for each in inputs for offer in each.offers]
        case JoinGraph(predicate):
            for conjunct in predicate:
                match conjunct:
                    case Call(function="=", args=(ColumnRef() as a, ColumnRef())):
                        joined.append(a.id)
            found = [offer for each in inputs for offer in each.offers]
        case Join(kind=kind, predicate=predicate):
            for conjunct in predicate if kind is not JoinKind.FULL else ():
                match equality_sides(conjunct, inputs[0].props.columns, inputs[1].props.columns):
                    case ColumnRef() as a, ColumnRef() as b:
                        joined.append(b.id if kind is JoinKind.RIGHT else a.id)
            if kind in (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI):
                found += inputs[0].offers
            if kind in (JoinKind.INNER, JoinKind.RIGHT):
                found += inputs[1].offers
        case Filter() | AnyJoin():
            found = list(inputs[0].offers)
        case Aggregate(keys, aggregates) if keys:
            found = _through(StreamingAggregate(keys, aggregates), props, inputs[0])
        case Window(partition, order, items):
            rows = WindowRows(partition, order, items)
            found = _through(rows, props, inputs[0])  # its own order, whoever makes it, is there for all above
            found.append(TraitSet((*ascending(partition), *order)))
        case With():
            found = list(inputs[-1].offers)
        case Limit(order=order):
            kept = [offer for offer in inputs[0].offers if satisfies(offer, TraitSet(order), inputs[0].props)]
            found = [TraitSet(order), *kept]
        case SetOp(SetOpKind.UNION, True, columns, sources):
            found = _merged(MergeUnion(columns, sources), props, inputs)
    fixed = props.closure(0)
    reduced = dict.fromkeys(_order_by(props.representative(key)) for key in joined if not fixed >> key & 1)
    for offer in dict.fromkeys(found):
        if column_set([key.column for key in offer.collation]) & ~props.columns:
            continue
        short = reduce_traits(offer, props)
        if short.collation:
            reduced[short] = None
    return tuple(reduced)


@lru_cache(maxsize=4096)
def _order_by(column: ColumnId) -> TraitSet:
    return TraitSet(ascending((column,)))


def _merged(op: MergeUnion, props: LogicalProps, inputs: Sequence[Offering]) -> list[TraitSet]:
    """Orders that a union has because every input has them."""
    below = [each.props for each in inputs]
    offered = ((index, offer) for index, each in enumerate(inputs) for offer in each.offers)
    ways = {way.delivered: way for index, offer in offered for way in op.derive(offer, index, props, below)}
    return [
        delivered
        for delivered, way in ways.items()
        if all(
            any(satisfies(have, need, other.props) for have in (ANY, *other.offers))
            for need, other in zip(way.inputs, inputs, strict=True)
        )
    ]


def _through(op: PhysicalOperator, props: LogicalProps, below: Offering) -> list[TraitSet]:
    return [alternative.delivered for offer in below.offers for alternative in op.derive(offer, 0, props, [below.props])]
