"""Scales of datasets, as users write them."""

import re
from decimal import Decimal, InvalidOperation

from optimizer.errors import CatalogError


def parse_scale(text: str, form: str = "tpch:SF", example: str = "tpch:0.1") -> Decimal:
    """The number `text`. Raises CatalogError, naming the form to write, unless it is one from 0.0001 to 100000."""
    try:
        scale = Decimal(text)
    except InvalidOperation:
        scale = Decimal("NaN")
    if not re.fullmatch(r"[0-9.eE+-]+", text) or not Decimal("0.0001") <= scale <= 100_000:
        raise CatalogError(f'"{text}" is no scale factor: write {form} with a number from 0.0001 to 100000, such as {example}')
    return scale
