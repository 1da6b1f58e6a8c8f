"""How far an estimate is off (Moerkotte, Neumann and Steidl, Preventing Bad Plans by Bounding the Impact of Cardinality
Estimation Errors, VLDB 2009)."""


def q_error(estimate: float, actual: float) -> float:
    """max(estimate / actual, actual / estimate), both taken as at least one row: a factor of at least 1."""
    a, b = max(1.0, estimate), max(1.0, actual)
    return max(a / b, b / a)
