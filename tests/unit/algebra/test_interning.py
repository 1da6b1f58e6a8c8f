"""Building the same scalar twice gives one object, in several threads too, and nothing is kept that nobody uses."""

import gc
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from threading import Barrier

import pyarrow as pa
import pytest

from optimizer.algebra.interning import _live
from optimizer.algebra.scalars import Literal

THREADS = 8


@pytest.fixture
def switching_often() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def test_threads_that_build_the_same_scalar_have_one_object(switching_often: None) -> None:
    ready = Barrier(THREADS)

    def build(_: int) -> list[Literal]:
        ready.wait()
        return [Literal(value, pa.int64()) for value in range(1_000_000, 1_002_000)]

    with ThreadPoolExecutor(THREADS) as pool:
        built = list(pool.map(build, range(THREADS)))
    for same in zip(*built, strict=True):
        assert all(each is same[0] for each in same)


def test_threads_that_build_and_forget_leave_nothing(switching_often: None) -> None:
    ready = Barrier(THREADS)

    def build(_: int) -> None:
        ready.wait()
        for value in range(4_000):
            Literal(2_000_000 + value % 7, pa.int64())

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(build, range(THREADS)))
    gc.collect()
    assert not [key for key in _live if key[0] is Literal and isinstance(key[2], int) and 2_000_000 <= key[2] < 2_000_007]


def test_equal_values_of_other_kinds_are_other_literals() -> None:
    double, whole = pa.float64(), pa.int64()
    assert Literal(0.0, double) is not Literal(-0.0, double)
    assert Literal(1, whole) is not Literal(True, whole)
    of_types = [Literal(2, whole), Literal(2.0, double), Literal(2, pa.int32())]
    assert len(set(map(id, of_types))) == 3
    assert Literal(Decimal("1.0"), pa.decimal128(3, 1)) is not Literal(Decimal("1.00"), pa.decimal128(3, 2))
