"""What tests ask for time and again is computed once: a text that is planned in many ways is bound once, and of the plans that
come out equal ones run once.

Only the text that came last is remembered, with its catalog.
"""

from copy import copy

import pyarrow as pa

from executor.execution import reader
from executor.session import Session
from optimizer.algebra.columns import Columns
from optimizer.algebra.query import BoundQuery
from optimizer.catalog.table import Catalog
from optimizer.errors import ExecutionError
from optimizer.sql.bind import bind


class _Text:
    def __init__(self, sql: str, catalog: Catalog) -> None:
        self.sql, self.catalog = sql, catalog
        self.bound: BoundQuery | None = None
        self.ran: dict[object, pa.Table | ExecutionError] = {}


_last = _Text("", Catalog("none", ()))


def _text(sql: str, catalog: Catalog) -> _Text:
    global _last
    if _last.sql != sql or _last.catalog is not catalog:
        _last = _Text(sql, catalog)
    return _last


def bound(sql: str, catalog: Catalog, ms: dict[str, float] | None = None) -> BoundQuery:
    """As `bind`: the same trees again, which nothing changes, and columns that rules may add theirs to."""
    text = _text(sql, catalog)
    if text.bound is None:
        text.bound = bind(sql, catalog, ms)
    return text.bound._replace(columns=_copy(text.bound.columns))


def _copy(columns: Columns) -> Columns:
    made = copy(columns)
    for name in Columns.__slots__:
        setattr(made, name, copy(getattr(columns, name)))
    return made


def rows(session: Session, sql: str) -> pa.Table:
    """As `session.sql(sql).table`."""
    query = session.optimize(sql)
    ran = _text(sql, session.catalog).ran
    nodes = tuple((node.op, node.columns, node.alternative, node.rows, len(node.inputs)) for node in query.plan.walk())
    key = nodes, query.outputs, query.settings.runtime_filters, query.bound.tree.volatile and len(ran)
    if key not in ran:
        try:
            ran[key] = reader(query, None, session.limits).read_all()
        except ExecutionError as error:
            ran[key] = error
    found = ran[key]
    if isinstance(found, ExecutionError):
        raise found
    return found
