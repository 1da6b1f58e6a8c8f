"""Cost models with every kind of coefficients: those as shipped, random ones, and ones with zeros."""

from random import Random

from optimizer.cost.arrow import ArrowCost
from optimizer.cost.c_mm import CMm
from optimizer.cost.c_out import COut
from optimizer.cost.coefficients import DEFAULTS, NAMES, Coefficients
from optimizer.cost.model import CostModel
from optimizer.cost.spark import SparkCost


def random_coefficients(random: Random) -> Coefficients:
    """Some are 0, some far from the defaults, in either direction."""
    values = {}
    for name, default in DEFAULTS.as_dict().items():
        values[name] = 0.0 if random.random() < 0.25 else default * 10 ** random.uniform(-3, 3)
    return Coefficients(**values)


def only(name: str) -> Coefficients:
    """One coefficient is 1, all others 0."""
    return Coefficients(**{**dict.fromkeys(NAMES, 0.0), name: 1.0})


def random_model(random: Random) -> CostModel:
    match random.randrange(5):
        case 0:
            return CMm()
        case 1:
            return COut()
        case 2:
            return SparkCost(random_coefficients(random), random.choice((1, 2, 7, 100)))
    return ArrowCost(random_coefficients(random))
