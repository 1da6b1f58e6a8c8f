"""Work that does not grow with what there was before, or with what could be done at once: counted, in calls and bytes."""

import random
import tracemalloc
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from executor.arrow import recurse
from executor.arrow.distinct import distinct_rows, per_control
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


@pytest.mark.parametrize(("prefixes", "calls"), [(4, [25] * 4), (50, [])])
def test_a_kernel_is_called_for_several_rows_at_a_time(prefixes: int, calls: list[int]) -> None:
    made: list[int] = []

    def kernel(texts: pa.Array, prefix: str) -> pa.Array:
        made.append(len(texts))
        return pc.starts_with(texts, prefix)

    texts, parts = [str(i * i) for i in range(100)], [str(i % prefixes) for i in range(100)]
    found = per_control(pa.array(texts), [pa.array(parts)], kernel, str.startswith, pa.bool_())
    assert found.to_pylist() == [text.startswith(part) for text, part in zip(texts, parts, strict=True)]
    assert made == calls


def test_new_rows_of_a_recursion_are_not_compared_with_all_before(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def counted(columns: Sequence[pa.Array]) -> tuple[np.ndarray, np.ndarray]:
        compared.append(len(columns[0]))
        return distinct_rows(columns)

    monkeypatch.setattr(recurse, "distinct_rows", counted)
    schema, dice, known = pa.schema([("n", pa.int64()), ("s", pa.string())]), random.Random(1), {}
    seen = recurse._Seen(schema)
    for _ in range(200):
        rows = [(dice.choice((None, dice.randrange(9000))), dice.choice((None, "a", "é"))) for _ in range(100)]
        new = [row for row in dict.fromkeys(rows) if row not in known]
        (found,) = seen.new(pa.record_batch([pa.array(column) for column in zip(*rows, strict=True)], schema))
        assert [(row["n"], row["s"]) for row in found.to_pylist()] == new
        known |= dict.fromkeys(new)
    assert len(known) > 8000 and max(compared) < 1200
