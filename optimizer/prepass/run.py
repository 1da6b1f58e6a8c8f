"""The state of one run of a program, and its one elementary step: asking at a vertex whether a rule applies.

Rules are functions of trees, so a rule that did not apply to a vertex is not asked again about the same vertex: a pass over a
tree that has settled costs one look at each part that changed.
"""

from optimizer.algebra.trees import Node, Tree
from optimizer.errors import InternalError, PlanscopeError
from optimizer.plugin_code import failed
from optimizer.prepass.compiled import RuleTable, fits
from optimizer.prepass.dag import Dag
from optimizer.prepass.instructions import Batch
from optimizer.prepass.recurrence import States
from optimizer.prepass.report import BatchRun, Firing, Stop, counted
from optimizer.rules.interface import RuleContext

FEW = 2_000  # vertices
SUSPICIOUS = 8  # firings at one place, or passes of one batch, after which states are watched


class Place:
    """A place in the tree where something fired, and the vertices that it has held, one after the other."""

    __slots__ = ("states", "vertices")

    def __init__(self, vertex: Tree) -> None:
        self.vertices = [vertex]
        self.states: States | None = None


class Run:
    """What fired, and what is known of vertices, by their ids: the graph keeps them alive.

    refused    the rules that do not apply at a vertex, as bits
    settled    vertices in and below which no rule of a part of the present batch applies
    changed    what vertices have become in the present pass; `entered`: when they were first visited in it
    alike      the rules, as bits, to which a vertex made in the present pass says the same as what stood in its place before
    stopped    why the present batch asks no more rules
    """

    def __init__(self, context: RuleContext) -> None:
        self.context = context
        self.dag = Dag()
        self.firings: list[Firing] = []
        self.batches: list[BatchRun] = []
        self.refused: dict[int, int] = {}
        self.settled: dict[int, Node] = {}
        self.changed: dict[int, Node] = {}
        self.entered: dict[int, int] = {}
        self.alike: dict[int, int] = {}
        self.stopped: Stop | None = None
        self._start = self._stop_at = self._fresh = 0
        self._clear_at = FEW
        self._culprits: tuple[tuple[str, int], ...] = ()
        self._settled: dict[int, dict[int, Node]] = {}

    def begin(self, batch: Batch) -> None:
        """Go on with `batch`: nothing has settled yet."""
        limit = self.context.settings.prepass_limit
        self._start = len(self.firings)
        self._stop_at = limit if batch.match_limit is None else min(limit, self._start + batch.match_limit)
        self._fresh = len(self.context.columns)
        self._settled.clear()
        self.stopped, self._culprits = None, ()

    def begin_part(self, index: int) -> None:
        """Go on with the part of this number of a pass."""
        self.settled = self._settled.setdefault(index, {})
        self.changed.clear()
        self.entered.clear()
        self.alike.clear()

    def end(self, name: str, passes: int, last: int) -> None:
        """Report on the batch; `last`: the number of firings before its last pass."""
        rules = self._culprits
        if self.stopped is not None and not rules:
            rules = counted(self.firings[last:]) or counted(self.firings[-1:])
        self.batches.append(BatchRun(name, self._start, len(self.firings), passes, self.stopped, rules))

    def states(self) -> States:
        """To note the states of one place in."""
        return States(self.context.columns, self._fresh)

    def clear_away(self, roots: list[Tree]) -> None:
        """Forget vertices that these trees do not reach, once they are more than a few and than those that the trees reach."""
        if len(self.refused) + len(self.dag) > self._clear_at:
            live = self.dag.keep(roots)
            self.refused = {id: bits for id, bits in self.refused.items() if id in live}
            self.changed.clear()
            self.entered.clear()
            self._settled.clear()
            self._clear_at = 2 * (len(self.refused) + len(self.dag)) + FEW

    def came_back(self, since: int) -> None:
        """A state is there again that was there before the firings from `since` on: the batch ends here."""
        self.stopped, self._culprits = Stop.CAME_BACK, counted(self.firings[since:])

    def ask(self, vertex: Tree, rules: RuleTable) -> Tree | None:
        """What the first rule that applies makes of a vertex. None: no rule does, or the batch was stopped."""
        firings = self.firings
        refused = before = self.refused.get(id(vertex), 0)
        bits, candidates = rules.candidates(vertex)
        if refused & bits == bits:
            return None
        after, limited = None, len(firings) >= self._stop_at
        for rule, bit, further, spared in candidates:
            if refused & bit:
                continue
            if limited:
                at_limit = self._stop_at == self.context.settings.prepass_limit
                self.stopped = Stop.PREPASS_LIMIT if at_limit else Stop.MATCH_LIMIT
                break
            if not further or fits(vertex, rule.pattern):
                try:
                    after = rule.apply(vertex, self.context)
                except PlanscopeError:
                    raise
                except Exception as error:
                    doing = f"rule {rule.name} failed in the pre-pass: "
                    raise failed(error, doing) or InternalError(f"{doing}{type(error).__name__}: {error}") from error
                if after is not None:
                    after = self.dag.intern(after)
                    if self.dag.same(after, vertex):
                        after = None  # it made what was there
                if rules.covers:
                    self.settled[id(after or vertex)] = after or vertex
                if after is not None:
                    firings.append(Firing(rule.name, vertex, after))
                    # a leaf that says what was said, as a scan that took the filter over it
                    leaf = not after.inputs and after.op.scalars() == vertex.op.scalars()
                    self._became(vertex, after, spared if leaf else 0)
                    if spared and not leaf:
                        self._spare(spared, vertex, after)
                    break
            refused |= bit
        if refused != before:
            self.refused[id(vertex)] = refused
        return after

    def _spare(self, bits: int, before: Tree, after: Tree) -> None:
        """Note that a rule that did not apply somewhere in `before` does not in `after`, where only leaves have lost columns."""
        refused = self.refused
        pairs: list[tuple[Node, Node]] = [(before, after)]
        for old, new in pairs:
            if old is not new:
                pairs.extend(zip(old.inputs, new.inputs, strict=False))
        alike: set[int] = set()
        for old, new in reversed(pairs):  # inputs first
            if old is not new:
                assert isinstance(old, Tree) and isinstance(new, Tree)
                same = old.op == new.op if old.inputs else type(old.op) is type(new.op) and not new.columns & ~old.columns
                if not same or any(id(below) not in alike for below in new.inputs):
                    continue
                refused[id(new)] = refused.get(id(new), 0) | refused.get(id(old), 0) & bits
            alike.add(id(new))

    def _became(self, before: Tree, after: Tree, alike: int) -> None:
        """Note which rules see no difference between what a vertex is now and what stood there when the pass began."""
        self.alike[id(after)] = alike & self.alike.get(id(before), -1) & self.alike.get(id(after), -1)

    def rebuilt(self, before: Tree, after: Tree) -> None:
        """Note that a vertex has other inputs: rules that see no difference in these still do not apply."""
        bits = -1
        for old, new in zip(before.inputs, after.inputs, strict=True):
            if old is not new:
                bits &= self.alike.get(id(new), 0)
        self._became(before, after, bits)
        if bits:
            self.refused[id(after)] = self.refused.get(id(after), 0) | self.refused.get(id(before), 0) & bits

    def enter(self, vertex: Tree, place: Place | None) -> None:
        """Note that a place holds this vertex now; ends the batch if it did before. None: nothing fired there yet."""
        now = len(self.firings)
        since = self.entered.get(id(vertex))
        if since is None:
            self.entered[id(vertex)] = now
        if place is not None:
            place.vertices.append(vertex)
            if len(place.vertices) >= SUSPICIOUS:
                self.dag.interning = True
                if since is None:
                    place.states = place.states or self.states()
                    since = place.states.add(vertex, now)
        if since is not None:
            self.came_back(since)

    def fired(self, place: Place, after: Tree, rules: RuleTable, repeat: bool) -> Node | None:
        """A rule has put `after` there; let others fire until none applies, or not, without `repeat`.

        What became of the last vertex if that was seen to before in this pass, else None.
        """
        vertex: Tree | None = after
        while vertex is not None:
            known = self.known(vertex)
            if known is not None:
                return known
            self.enter(vertex, place)
            vertex = self.ask(vertex, rules) if repeat and self.stopped is None else None
        return None

    def known(self, vertex: Node) -> Node | None:
        """What a vertex has become, if it has settled or was seen to in this pass."""
        found = self.settled.get(id(vertex))
        return found if found is not None else self.changed.get(id(vertex))

    def leave(self, vertex: Node, place: Place | None, result: Node) -> None:
        """Note that each vertex that the place held, for None only `vertex`, has become `result` in this pass."""
        for held in (vertex,) if place is None else place.vertices:
            if held is not result:
                self.changed[id(held)] = result
