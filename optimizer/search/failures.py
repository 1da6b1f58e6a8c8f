"""Turning failures of extensions and dead ends of the search into errors that say where to look."""

from pathlib import Path
from traceback import extract_tb

from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.traits import ANY
from optimizer.errors import InternalError, PlanscopeError, many
from optimizer.memo.goal import INFINITY, Goal
from optimizer.plugin_code import failed
from optimizer.rules.interface import Rule
from optimizer.search.context import SearchContext


def rule_failed(rule: Rule, gid: int, error: Exception) -> PlanscopeError:
    """A rule that raises stops the search: skipping it would turn a wrong plan into a log line. Says the last line of the rule's
    file on the way to the error."""
    if isinstance(error, PlanscopeError):
        return error
    doing = f"rule {rule.name} failed on group {gid}: "
    if (told := failed(error, doing)) is not None:
        return told
    code = getattr(getattr(type(rule), "apply", None), "__code__", None)
    own = [frame for frame in extract_tb(error.__traceback__) if code is not None and frame.filename == code.co_filename]
    where = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
    return InternalError(f"{doing}{type(error).__name__}: {error}{where}")


def why_no_plan(search: SearchContext, goal: Goal) -> str:
    """Follow a goal without a plan down to the groups that close it, and say what closes them."""
    label, memo = search.context.columns.label, search.memo
    lines = {f"no physical plan for group {goal.group} with traits {goal.required.show(label)}": None}
    seen: set[int] = set()
    pending = [goal]
    while pending and len(lines) < 8:
        here = pending.pop()
        if here.id in seen or here.group < 0:
            continue
        seen.add(here.id)
        group = memo.groups[here.group]
        ops = ", ".join(sorted({mexpr.op.name for mexpr in group.logical}))
        listed = list((here.listed or {}).values())
        if not any(mexpr.implemented for mexpr in group.logical) and not here.opened:
            continue  # it was never asked
        if not any(mexpr.physical for mexpr in group.logical):
            own = search.context.partition is not None and ops == JoinGraph.name and search.rules.joins
            left = f": the enumerator {search.context.settings.partitioner} leaves no order of these relations" if own else ""
            lines[f"group {here.group} ({ops}) has no implementation{left}"] = None
        elif here.required != ANY and not listed:
            lines[f"no plan of group {here.group} ({ops}) comes in {here.required.show(label)}, and nothing may sort it"] = None
        pending += [below for way in listed for below in way.inputs if below.way is None]
        pending += [search.goal(gid, ANY) for mexpr in group.logical for gid in mexpr.inputs if not listed]
    lines |= {
        f"{where}{op} costs infinity under the cost model {search.cost.name}, which forbids it": None
        for op, where in search.forbidden.items()
    }
    disabled = search.context.settings.disable
    if disabled:
        lines[f"disabled rules: {', '.join(disabled)}"] = None
    return "\n".join(lines)


def what_was_found(search: SearchContext) -> str:
    """What an interrupted search had done: its progress, the best plan so far, and what is proved."""
    goal, counters = search.root, search.counters
    text = f"interrupted after {many(counters.tasks, 'task')} with {many(len(search.memo.groups), 'group')}"
    if goal is None:
        return f"{text}, while exploring{search.fired_most()}; nothing was costed yet"
    if goal.best_cost == INFINITY:
        return f"{text}; no complete plan yet"
    text += f"; the best plan so far costs {goal.best_cost:.6g}"
    if counters.narrowed or not search.explores_first:
        return text
    return f"{text}, and no plan costs less than {search.memo.groups[goal.group].lower:.6g}"
