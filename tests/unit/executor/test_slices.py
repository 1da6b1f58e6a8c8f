"""A batch is often a slice of all its table's texts: the work is on its own."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from executor.arrow.key_words import key_words
from executor.arrow.strings import BY_CONTROLS

WORK: dict[str, Callable[[pa.Array], np.ndarray]] = {
    "hash": lambda texts: key_words([texts], seed=3)[0][0],
    "place": lambda texts: BY_CONTROLS["strpos"](texts, "é").to_numpy(),
}


@pytest.mark.parametrize("work", WORK)
@pytest.mark.filterwarnings("error")
def test_texts_before_the_slice_are_not_read(work: str) -> None:
    texts = [f"{i:0100}é" for i in range(20_000)]
    few = pa.array(texts).slice(19_000, 9)
    tracemalloc.start()
    found = WORK[work](few)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.tolist() == WORK[work](pa.array(texts[19_000:19_009])).tolist()
    assert most < 100_000, "2 MB of texts are before the slice"
