"""The commands of the stepper. A command is a line of text, and so is what it gives; no terminal is needed.

Commands go from event to event of a replayer, forwards and backwards, and show its state. Over a search that is running they
make it run, so a breakpoint stops the search itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Set
from pathlib import Path
from typing import NamedTuple, Protocol

from memo_viz.names import canonical_group, groups_called, members
from memo_viz.terminal.views import Views
from memo_viz.text import clean
from memo_viz.words import Names, references, sentence
from optimizer.errors import PlanscopeError, did_you_mean, many
from optimizer.trace.conditions import FUNCTIONS, NAMES
from optimizer.trace.replay import Replay
from optimizer.trace.state import MemoState
from optimizer.trace.vocabulary import vocabulary
from optimizer.trace.walk import KINDS, Stop, Walk, groups_of

_MANY = 20  # events of an expression that `why` tells
_NAMED_GROUP = re.compile(r"group\s+(?!G?-?\d+$|[-=!<>+*/]|(?:in|is|not|and|or)\s)(.+)")  # and no condition on the field `group`


class Search(Protocol):
    """A search that runs as far as it is looked at, and can be run again with other settings and row counts."""

    @property
    def error(self) -> PlanscopeError | None:
        """What ended it before it had a plan."""
        ...

    @property
    def ended(self) -> bool:
        """Whether there are no more events to come."""
        ...

    @property
    def relations(self) -> Set[str]:
        """The relations of the query, in lower case."""
        ...

    @property
    def unasked(self) -> list[str]:
        """The sets of relations whose rows were given and that the search has not asked for."""
        ...

    def set(self, pair: str) -> None:
        """NAME=VALUE for the next run. Raises SettingsError."""
        ...

    def rows(self, aliases: frozenset[str], rows: float) -> None:
        """So many rows of the inner join of these relations, with all the filters on them, for the next run."""
        ...

    def again(self) -> Replay:
        """Give this run up and begin anew."""
        ...


class Verb(NamedTuple):
    """A command: how it is written, what it does, and what does it."""

    usage: str
    help: str
    run: Callable[[Stepper, str], str]


class Stepper:
    """A replayer, breakpoints, and the commands over them. `search`: None for a recorded trace. `rules`: names of those that
    there are, () where that is not known. `done`: after `quit`."""

    def __init__(
        self, replay: Replay, search: Search | None = None, width: int = 100, rules: Collection[str] = (),
        save: Callable[[str, str], object] = lambda file, text: Path(file).write_text(text, "utf-8"),
    ) -> None:  # fmt: skip
        self.search, self.width, self._rules, self._save = search, width, rules, save
        self.done = False
        self._breakpoints: dict[int, Stop] = {}
        self._numbered = 0
        self._begin(replay)

    def _begin(self, replay: Replay) -> None:
        self.replay, self.walk = replay, Walk(replay)
        self._breakpoints = {number: self._stop_at(stop.text) for number, stop in self._breakpoints.items()}
        self._tasks: dict[int, str] = {}
        self._told = 0
        self._final = Names(replay.final(), self._task_texts()) if self.search is None else None
        replay.seek(1)

    def run(self, line: str) -> str:
        """Carry out a command; the text to show. Raises PlanscopeError for a wrong one."""
        word, _, rest = line.strip().partition(" ")
        verb = VERBS.get(ALIASES.get(word, word))
        if verb is not None:
            return verb.run(self, rest.strip())
        if word in KINDS or word == "best" or line.strip() in vocabulary().kinds:
            return self._until(line)
        raise PlanscopeError(
            f'there is no command "{clean(word)}"; {did_you_mean(word, [*VERBS, *KINDS, "best"], "help lists them")}'
        )

    def completions(self, begun: str) -> list[str]:
        """What the last word of a command may go on as."""
        *before, word = begun.lstrip().split(" ")
        if not before:
            found: Iterable[str] = [*VERBS, *KINDS, "best"]
        elif ALIASES.get(before[0], before[0]) in ("until", "break", "back") and len(before) == 1:
            found = [*KINDS, "best", "group", "goal", "rule", *(("next", "out", "run") if before[0] == "back" else ())]
        elif before[-1] == "rule":
            found = sorted({event["rule"] for event in self.replay.events if isinstance(event.get("rule"), str)})
        elif before[-1] == "group":
            found = [f"G{id}" for id in self.replay.state.groups if id >= 0]
        elif before[-1] in ("goal", "plan"):
            found = [f"g{id}" for id in self.replay.state.goals]
        else:
            found = VERBS if before == ["help"] else ()
        return [each for each in found if each.startswith(word)]

    # -- walking ------------------------------------------------------------------------------------------------------------

    def _step(self, rest: str) -> str:
        target = self.replay.position + _count(rest, "step")
        if not self._breakpoints or target <= self.replay.position:
            self.replay.seek(target)
            return self.where()
        return self._forward(Stop(f"step {rest}", lambda event, state: event["seq"] + 1 >= target)) or self.where()

    def _next(self, rest: str) -> str:
        return self._forward(self.walk.over()) or self.where()

    def _out(self, rest: str) -> str:
        return self._forward(self.walk.out()) or self.where()

    def _until(self, rest: str) -> str:
        if not rest:
            raise PlanscopeError(f"until what? {', '.join(KINDS)}, best, group N, goal N, rule NAME, or a condition")
        here = self.replay.position
        told = self._forward(self._stop(rest))
        if told is None:
            self.replay.seek(here)
            return f"  after event {here - 1:,} this does not happen"
        return told

    def _stop(self, text: str) -> Stop:
        """Where to stop. Raises PlanscopeError where that is nowhere, as at a rule that does not exist."""
        match text.split():
            case ["rule", rule] if self._rules and rule not in {*self._rules, *(e.get("rule") for e in self.replay.events)}:
                near = did_you_mean(rule, self._rules, "planscope rules lists them")
                raise PlanscopeError(f'there is no rule "{clean(rule)}"; {near}')
        if (found := _NAMED_GROUP.fullmatch(text)) is not None:
            here = self.replay.position
            known = self._called(found[1], self.replay.final() if self.search is None else self.replay.state)
            self.replay.seek(here)
            if not known and (self.search is None or not set(members(found[1].lower())) <= self.search.relations):
                _known(found[1], "group", "G", ())
        return self._stop_at(text)

    def _stop_at(self, text: str) -> Stop:
        """A named group is known by its name at each event: a set of relations has another number once it is a group."""
        if (found := _NAMED_GROUP.fullmatch(text)) is None:
            return self.walk.stop(text)
        return Stop(text, lambda event, state: bool(self._called(found[1], state, groups_of(event, state))), True)

    def _called(self, text: str, state: MemoState, among: Collection[int] | None = None) -> list[int]:
        """The groups (`among` these, where given) that a text means, by what they are called in this state or at the end."""
        ids = state.groups.keys() if among is None else among
        final = {id for id in ids if self._final is not None and members(self._final.group(id)) == members(text)}
        return sorted(final or groups_called(state, text, ids))

    def _run(self, rest: str) -> str:
        return self._forward() or self.where()

    def _forward(self, *stops: Stop) -> str | None:
        """Go to where a stop or a breakpoint says; None where that is nowhere, and the end is reached."""
        found = self.walk.forward(*stops, *self._breakpoints.values())
        return None if found is None else self._stopped(found)

    def _stopped(self, found: Stop) -> str:
        number = next((number for number, stop in self._breakpoints.items() if stop is found), None)
        return ("" if number is None else f"breakpoint {number}: {clean(found.text)}\n") + self.where()

    def _back(self, rest: str) -> str:
        here = self.replay.position
        if not rest or re.fullmatch(r"-*[\d,]+", rest):
            self.replay.seek(max(1, here - _count(rest, "back")))
            return self.where()
        word, _, where = rest.partition(" ")
        word = ALIASES.get(word, word)
        known = {"next": self.walk.over, "out": self.walk.out}
        if word == "run" and not where:
            found = self.walk.backward(*self._breakpoints.values())
        else:
            found = self.walk.backward(known[word]() if word in known else self._stop(where if word == "until" else rest))
        if found is None:
            self.replay.seek(1 if word == "run" else here)
            return self.where() if word == "run" else f"  before event {here - 1:,} this does not happen"
        return self._stopped(found)

    def _goto(self, rest: str) -> str:
        if not rest:
            raise PlanscopeError("goto takes the number of an event, as in goto 120")
        self.replay.seek(_count(rest, "goto") + 1)
        return self.where()

    def _end(self, rest: str) -> str:
        self.replay.final()
        return self.where()

    # -- breakpoints --------------------------------------------------------------------------------------------------------

    def _break(self, rest: str) -> str:
        if rest:
            stop = self._stop(rest)
            self._numbered += 1
            self._breakpoints[self._numbered] = stop
        lines = [f"  {number}  {clean(stop.text)}" for number, stop in self._breakpoints.items()]
        return "\n".join(lines or ["  there are no breakpoints"])

    def _delete(self, rest: str) -> str:
        if not rest:
            self._breakpoints.clear()
        elif rest in map(str, self._breakpoints):
            del self._breakpoints[int(rest)]
        else:
            raise PlanscopeError(f'there is no breakpoint "{clean(rest)}"')
        return self._break("")

    # -- looking ------------------------------------------------------------------------------------------------------------

    def where(self, rest: str = "") -> str:
        """The event at the position."""
        event = self.replay.events[self.replay.position - 1]
        total = f" of {self.replay.events[-1]['seq']:,}" if self.search is None or self.search.ended else ""
        head = f"event {event['seq']:,}{total}  {clean(event['kind'])}"
        return "\n".join([head, *self._views().event(event), *self._ended()])

    def _ended(self) -> list[str]:
        """At the last event: that it is the last, and why."""
        if self.replay.position < len(self.replay.events):
            return []
        error = None if self.search is None else self.search.error
        if error is not None:
            told = f"The search ended: {error}".split("\n")
            return ["", *(line for text in told for line in self._views().wrapped(clean(text)))]
        damage, unasked = self.replay.damage, self.search.unasked if self.search is not None and self.search.ended else []
        told = [f"The trace is damaged after this event: {damage}"] if damage else []
        told += [
            f"The rows given for {relations} changed nothing: no inner join of these was asked for." for relations in unasked
        ]
        return ["", *(line for text in told for line in self._views().wrapped(clean(text)))] if told else []

    def _stack(self, rest: str) -> str:
        return "\n".join(self._views().stack(self.walk.depths))

    def _memo(self, rest: str) -> str:
        return "\n".join(self._views().memo(rest))

    def _group(self, rest: str) -> str:
        id = self._group_number(rest)
        return "\n".join(self._views().group(id))

    def _goal(self, rest: str) -> str:
        return "\n".join(self._views().goal(_known(rest, "goal", "g", self.replay.state.goals)))

    def _plan(self, rest: str) -> str:
        state = self.replay.state
        if not rest and state.root is None:
            return "  the search for the whole query has not begun"
        goal = state.root if not rest else _known(rest.removeprefix("goal").strip(), "goal", "g", state.goals)
        assert goal is not None
        return "\n".join(self._views().plan(goal))

    def _tree(self, rest: str) -> str:
        tree = self.replay.state.tree
        return "\n".join(self._views().tree(tree)) if tree else "  the trace has no tree here"

    def _events(self, rest: str) -> str:
        count, names = _count(rest, "events", 5), self._names()
        at = self.replay.position - 1
        events = self.replay.events[max(0, at - count) : at + count + 1]
        lines = [f"{'▶' if e['seq'] == at else ' '} {e['seq']:>7,}  {clean(e['kind']):<12} {sentence(e, names)}" for e in events]
        return "\n".join(self._views().cut(lines))

    def _why(self, rest: str) -> str:
        """The events that the sentence rests on; or all that happened to an expression."""
        here, names = self.replay.position, self._names()
        if rest:
            id = _known(rest, "expression", "m", self.replay.state.mexprs)
            told = [
                e["seq"] for e in self.replay.events[:here] if e.get("mexpr") == id or (e["kind"] == "mexpr" and e["id"] == id)
            ]
        else:
            told = references(self.replay.events[here - 1], self.replay.state)
        lines = [] if rest else self._views().wrapped(sentence(self.replay.events[here - 1], names, self.replay.state))
        for seq in told[:_MANY]:
            text = sentence(self.replay.events[seq], names, self.replay.seek(seq + 1))
            lines += [f"  event {seq:,}", *self._views().wrapped(text, "    ")]
        self.replay.seek(here)
        if len(told) > _MANY:
            lines.append(f"  … and {many(len(told) - _MANY, 'more event')}")
        return "\n".join(lines if told else [*lines, "  this rests on no other event"])

    def _svg(self, rest: str) -> str:
        from memo_viz.dot import COMPLETE, memo_dot
        from memo_viz.graph import memo_graph
        from memo_viz.svg import render_svg

        if not rest:
            raise PlanscopeError("svg FILE writes the memo as it is here; svg FILE G12 a group and what lies below it")
        found = re.fullmatch(r"([\"']?)(.*?\.svg)\1(?:\s+(.+))?", rest, re.IGNORECASE)
        if found is None:
            raise PlanscopeError(f"end the name in .svg: {clean(rest)} may be something else")
        _, file, group = found.groups()
        focus = self._group_number(group) if group else None
        graph = memo_graph(self.replay.state, focus=focus, depth=None if focus is None else 1)
        svg = render_svg(memo_dot(graph, COMPLETE if focus is not None else None, f"event {self.replay.position - 1:,}"))
        try:
            self._save(file, svg)
        except OSError as error:
            raise PlanscopeError(f"cannot write {file}: {error.strerror}") from None
        return f"  the memo at this event is in {clean(file)}"

    def _help(self, rest: str) -> str:
        if rest and ALIASES.get(rest, rest) in VERBS:
            verb = VERBS[ALIASES.get(rest, rest)]
            return f"  {verb.usage}\n" + "\n".join(self._views().wrapped(verb.help, "    "))
        if rest:
            raise PlanscopeError(f'there is no command "{clean(rest)}"; {did_you_mean(rest, VERBS, "help lists them")}')
        width = max(len(verb.usage) for verb in VERBS.values())
        lines = [f"  {verb.usage:<{width}}  {verb.help.partition('. ')[0].rstrip('.')}" for verb in VERBS.values()]
        short = ", ".join(f"{short} {long}" for short, long in ALIASES.items())
        tail = [f"short: {short}. An empty line repeats the last command.", *_CONDITIONS]
        return "\n".join([*self._views().cut(lines), "", *(part for text in tail for part in self._views().wrapped(text))])

    # -- the next run -------------------------------------------------------------------------------------------------------

    def _set(self, rest: str) -> str:
        self._running().set(rest)
        return "  the next run has it; again begins it"

    def _rows(self, rest: str) -> str:
        search = self._running()
        found = re.fullmatch(r"\{?\s*([^{}=]+?)\s*\}?\s*=\s*(\S+)", rest)
        try:
            rows = float(found[2].replace(",", "").replace("_", "")) if found is not None else -1.0
        except ValueError:
            rows = -1.0
        if found is None or not 0 <= rows < float("inf"):
            raise PlanscopeError("rows are given as in: rows {lineitem, orders} = 1e6")
        search.rows(frozenset(name.strip().lower() for name in re.split(r"[,\s]+", found[1]) if name), rows)
        return "  the next run has it; again begins it"

    def _again(self, rest: str) -> str:
        self._begin(self._running().again())
        return self.where()

    def _quit(self, rest: str) -> str:
        self.done = True
        return ""

    # -- what commands need -------------------------------------------------------------------------------------------------

    def _running(self) -> Search:
        if self.search is None:
            raise PlanscopeError("this is a recorded trace; only a search that runs here can be changed: planscope step SQL")
        return self.search

    def _views(self) -> Views:
        return Views(self.replay.state, self._names(), self.width)

    def _names(self) -> Names:
        """Names from the end of a recorded trace; from as far as a running search has come."""
        return self._final or Names(self.replay.state, self._task_texts())

    def _task_texts(self) -> dict[int, str]:
        for event in self.replay.events[self._told :]:
            if event["kind"] == "task_push":
                self._tasks[event["id"]] = f"{event['text']} [{event['name']}]"
        self._told = len(self.replay.events)
        return self._tasks

    def _group_number(self, text: str) -> int:
        """G7, 7, or the name of a group."""
        state = self.replay.state
        named = self._called(text, state)
        return canonical_group(state, named[0] if named else _known(text, "group", "G", state.groups))


def _count(text: str, verb: str, default: int = 1) -> int:
    if not text:
        return default
    digits = text.replace(",", "")
    if not digits.isdecimal() or len(digits) > 12:
        other = {"step": "back", "back": "step"}.get(verb)
        back = f": {other} {digits[1:]} goes the other way" if other and re.fullmatch(r"-\d+", digits) else ""
        raise PlanscopeError(f'{verb} takes a number from 0 up, not "{clean(text)}"{back}')
    return int(digits)


def _known(text: str, what: str, letter: str, known: Iterable[int]) -> int:
    if not text:
        raise PlanscopeError(f"which {what}? {what}s are called {letter}12")
    digits = text.removeprefix(letter)
    number = int(digits) if digits.removeprefix("-").isdecimal() and len(digits) < 12 else None
    if number is None or number not in known:
        raise PlanscopeError(f'there is no {what} "{clean(text)}" at this event; {what}s are called {letter}12')
    return number


_CONDITIONS = (
    "WHERE is a kind of event ("
    + ", ".join([*KINDS, "best"])
    + ", or another of docs/traces.md), group N, goal N, rule NAME, or a condition such as "
    'kind == "prune" and lower > 2 * root_cost.',
    "Conditions have the fields of events (docs/traces.md), "
    + ", ".join(f"{name} ({meaning})" for name, (meaning, _) in NAMES.items())
    + ", and "
    + ", ".join(f"{name}(n) ({meaning})" for name, (meaning, _) in FUNCTIONS.items())
    + ".",
)

VERBS: dict[str, Verb] = {
    "step": Verb("step [N]", "Go N events on.", Stepper._step),
    "next": Verb("next", "Go to the next task that is not part of this one: over all that this task asks for.", Stepper._next),
    "out": Verb("out", "Go to where the task that asked for this one goes on.", Stepper._out),
    "until": Verb("until WHERE", "Go to the next event of a kind, or at which a condition holds.", Stepper._until),
    "run": Verb("run", "Go on to the next breakpoint, or to the end.", Stepper._run),
    "back": Verb(
        "back [N|next|out|run|WHERE]", "The same, backwards; run: to the breakpoint before, or the start.", Stepper._back
    ),
    "goto": Verb("goto N", "Go to event N, in either direction.", Stepper._goto),
    "end": Verb("end", "Go to the last event.", Stepper._end),
    "break": Verb("break [WHERE]", "Stop there whenever going on; without WHERE, list the breakpoints.", Stepper._break),
    "delete": Verb("delete [N]", "Delete a breakpoint, or all.", Stepper._delete),
    "where": Verb("where", "Show the event again.", Stepper.where),
    "events": Verb("events [N]", "The N events before and after.", Stepper._events),
    "stack": Verb("stack", "The task that runs and those that wait, the next one first.", Stepper._stack),
    "memo": Verb("memo [WORD]", "The groups. WORD: those with it in their name, or in an operator.", Stepper._memo),
    "group": Verb("group G", "A group: its goals, its expressions, and what made them.", Stepper._group),
    "goal": Verb("goal N", "A goal: its bounds and where they came from, its best plan.", Stepper._goal),
    "plan": Verb("plan [GOAL]", "The best plan of the query, or of a goal, as it stands here.", Stepper._plan),
    "tree": Verb("tree", "The logical tree, as far as it was rewritten.", Stepper._tree),
    "why": Verb("why [M]", "The events that this one rests on. M: all that happened to an expression so far.", Stepper._why),
    "svg": Verb("svg FILE [G]", "Write the memo as a picture. G: that group and its inputs.", Stepper._svg),
    "set": Verb("set NAME=VALUE", "Change a setting for the next run.", Stepper._set),
    "rows": Verb("rows {A, B}=N", "Let a join of these relations have N rows in the next run.", Stepper._rows),
    "again": Verb("again", "Search again, with what was changed; breakpoints stay.", Stepper._again),
    "help": Verb("help [COMMAND]", "This list.", Stepper._help),
    "quit": Verb("quit", "Leave.", Stepper._quit),
}

ALIASES = {
    "s": "step",
    "n": "next",
    "o": "out",
    "u": "until",
    "r": "run",
    "c": "run",
    "continue": "run",
    "b": "break",
    "g": "goto",
    "h": "help",
    "q": "quit",
    "exit": "quit",
    "clear": "delete",
}
