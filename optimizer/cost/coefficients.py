"""What the Arrow engine's operators cost, as numbers: the coefficients of the cost model `arrow`.

All are nanoseconds, none is negative. `planscope calibrate` measures them on a machine; the defaults are those of the authors'
(two cores). A cost is linear in them, so they can be fitted by least squares and a bound in terms of them holds for any.
"""

from dataclasses import dataclass, fields

from optimizer.errors import SettingsError

MOST = 1e12  # a quarter of an hour for one row; costs have to stay finite


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficients:
    """A name ends in what it is multiplied by: a row of the input (`_in`), of the output (`_out`), a call of a function on one
    row, a byte. Names that begin with `again` are for a further run of an operator in the right input of an Apply."""

    start: float = 100_000.0  # an operator's set-up

    scan_start: float = 400_000.0  # opening the files of a table
    scan_row: float = 4.0
    scan_byte: float = 2.0  # decoded
    call: float = 4.0  # any function of a filter, a projection, a residual, on one row
    text_byte: float = 2.5  # one that searches or makes text, a byte of its arguments; not counted in residuals of joins
    copy: float = 2.0  # handing on a row as it is

    join_out: float = 15.0  # any join
    hash_build: float = 80.0
    hash_probe: float = 25.0
    merge_in: float = 60.0
    loop_in: float = 20.0  # nested loops: reading a row of either input
    pair: float = 18.0  # nested loops, one pair of rows
    pair_call: float = 12.0  # a call on one pair

    group_in: float = 12.0  # hash aggregate
    group_call: float = 6.0  # an aggregate function on one row, hashed or streamed
    group_out: float = 140.0
    stream_in: float = 40.0  # streaming aggregate

    sort_row: float = 30.0
    sort_compare: float = 9.0  # one of n·log2 n comparisons
    prefix_compare: float = 10.0  # comparing neighbours by one column: partial sort, window
    top_in: float = 12.0

    union_row: float = 6.0  # merging sorted inputs
    union_compare: float = 7.0
    set_row: float = 180.0  # INTERSECT, EXCEPT
    window_row: float = 20.0
    window_call: float = 40.0
    window_search: float = 25.0  # a frame whose ends are searched, for each halving

    apply_run: float = 8_000.0  # one run of the right input, whatever that does
    apply_row: float = 400.0  # a left row, its binding and its place in the join
    cache_row: float = 600.0  # looking for a result
    cache_run: float = 8_000.0  # remembering one
    repeated_run: float = 30_000.0  # a run that a cache would have spared, at the least

    again_filter: float = 12_000.0
    again_project: float = 9_000.0
    again_lookup: float = 11_000.0
    again_range: float = 16_000.0
    again_aggregate: float = 28_000.0  # hash aggregate without keys
    again_grouping: float = 65_000.0  # with keys
    again_streaming: float = 60_000.0
    again_hash_join: float = 60_000.0
    again_loop_join: float = 40_000.0
    again_sort: float = 46_000.0  # or top-k
    again_limit: float = 7_000.0
    again_union: float = 10_000.0
    again_apply: float = 60_000.0
    again_scan: float = 400_000.0
    again_other: float = 100_000.0  # an operator that keeps nothing from one run to the next

    def __post_init__(self) -> None:
        """Raises SettingsError naming every coefficient that is no number from 0 to MOST."""
        wrong = [f"{name} ({value!r})" for name, value in self.as_dict().items() if not _is_cost(value)]
        if wrong:
            raise SettingsError(f"coefficients are numbers from 0 to {MOST:g}; these are not: {', '.join(wrong)}")

    def as_dict(self) -> dict[str, float]:
        """Name to value, in order."""
        return {name: getattr(self, name) for name in NAMES}

    @property
    def join_in(self) -> float:
        """What any join costs at least per input row. Nested loops: pair · l · r ≥ pair/2 · (l + r) when l, r ≥ 1."""
        return min(self.hash_probe, self.hash_build, self.merge_in, self.loop_in + self.pair / 2)

    @property
    def least_again(self) -> float:
        """What any operator costs at least in a further run."""
        return min(value for name, value in self.as_dict().items() if name.startswith("again"))


NAMES: tuple[str, ...] = tuple(field.name for field in fields(Coefficients))


def _is_cost(value: object) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool) and 0.0 <= value <= MOST


DEFAULTS = Coefficients()
