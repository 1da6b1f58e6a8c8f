"""Join costs as numbers: what a cost model says about joins when they are linear in rows.

A model that gives its `JoinCosts` lets the search cost joins of whole relation sets by arithmetic, without making an
expression for each of them; other models have their joins costed one operator at a time.
"""

from typing import NamedTuple


class JoinCosts(NamedTuple):
    """Coefficients, in the model's unit. Rows are taken as at least `floor`. For inner joins with l and r input rows, o
    output rows, c calls in the residual (all conjuncts for nested loops):

        hash join, build on r    start + build · r + probe · l + (out + call · c) · o
        merge join               start + merge · (l + r) + (out + call · c) · o
        nested loops             start + loop · (l + r) + (pair + pair_call · c) · l · r + out · o

    A sort of n rows by k keys costs at least start + n · (sort + compare · √k · log2(n + 1)). Zeros: nothing is known.
    """

    floor: float
    start: float
    build: float
    probe: float
    merge: float
    loop: float
    pair: float
    pair_call: float
    out: float
    call: float
    sort: float = 0.0
    compare: float = 0.0

    @property
    def least_input(self) -> float:
        """What any join costs per input row at least. Nested loops: pair · l · r ≥ pair/2 · (l + r) when l, r ≥ 1."""
        loops = self.loop + (self.pair / 2 if self.floor >= 1.0 else 0.0)
        return min(self.build, self.probe, self.merge, loops)

    def smaller_input(self, other: float, merging: bool) -> float:
        """The same of an input that has no more rows than the other, which has at least `other` rows."""
        loops = self.loop + self.pair / 2 * other
        return min(max(self.build, self.probe), self.merge if merging else loops, loops)

    @property
    def hash_beats_merge(self) -> bool:
        """Whether building on the smaller input never costs more than merging: build · s + probe · b ≤ merge · (s + b) for
        all 0 ≤ s ≤ b holds when it holds at s = 0 and at s = b."""
        return self.probe <= self.merge and self.build + self.probe <= 2 * self.merge
