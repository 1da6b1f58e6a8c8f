"""Conditions on an event and the state after it, as text: `kind == "prune" and lower > 2 * root_cost`.

The language is a part of Python's expressions and is evaluated here, node by node: constants, names, and/or/not, comparisons,
+ - * /, and calls of FUNCTIONS. A name is a field of the event or one of NAMES. What an event does not have is None: it is
equal to None only, no other comparison with it holds, and sums with it are None.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

from optimizer.errors import PlanscopeError, did_you_mean
from optimizer.trace.state import GoalState, MemoState
from optimizer.trace.vocabulary import vocabulary

Event = dict[str, Any]
Value = Any  # a number, a text, True, False, None or a list of them
_Node = Callable[[Event, MemoState], Value]

LONGEST = 1000  # characters
DEEPEST = 50  # operators within each other

NAMES: dict[str, tuple[str, Callable[[MemoState], Value]]] = {
    "root_cost": ("cost of the best plan of the whole query", lambda s: _cost(_root(s))),
    "root_lower": ("its lower bound", lambda s: None if (goal := _root(s)) is None else goal.lower),
    "stack": ("tasks on the stack", lambda s: len(s.stack)),
    "groups": ("groups in the memo", lambda s: len(s.groups)),
    "mexprs": ("multi-expressions in the memo", lambda s: len(s.mexprs)),
    "goals": ("goals", lambda s: len(s.goals)),
}

FUNCTIONS: dict[str, tuple[str, Callable[[MemoState, int], Value]]] = {
    "cost": ("cost of the best plan of goal n", lambda s, n: _cost(s.goals.get(n))),
    "lower": ("lower bound of goal n", lambda s, n: s.goals[n].lower if n in s.goals else None),
    "limit": ("limit of goal n", lambda s, n: s.goals[n].limit if n in s.goals else None),
    "status": ("status of goal n", lambda s, n: s.goals[n].status if n in s.goals else None),
    "rows": ("estimated rows of group n", lambda s, n: s.groups[n].rows if n in s.groups else None),
    "size": (
        "multi-expressions of group n",
        lambda s, n: len(s.groups[n].logical + s.groups[n].physical) if n in s.groups else None,
    ),
}

_TEXTS = ("text", "choice", "rule", "op", "traits")
_LISTS = ("columns", "each_traits", "groups", "relations", "mexprs", "goals", "plans", "bounds", "tree", "plan")

_COMPARISONS: dict[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
    ast.Is: operator.eq, ast.IsNot: operator.ne,
}  # fmt: skip
_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip


class Condition(NamedTuple):
    """`by_state`: it asks about the state too, and not only about the event."""

    holds: Callable[[Event, MemoState], bool]
    by_state: bool


def condition(text: str) -> Condition:
    """The condition that a text says. Raises PlanscopeError that says what is wrong with it."""
    if len(text) > LONGEST:
        raise PlanscopeError(f"the condition has {len(text):,} characters; {LONGEST:,} are allowed")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        node = _compile(tree, text, DEEPEST)
    except SyntaxError as error:
        raise PlanscopeError(f'"{text}" is no condition: {error.msg}; an example: kind == "prune" and lower > 1e6') from None
    except (RecursionError, MemoryError, ValueError):  # from the parser
        raise PlanscopeError("the condition is nested too deep, or has characters that no condition has") from None
    if isinstance(tree, ast.List | ast.Tuple) or not any(isinstance(part, ast.Name) for part in ast.walk(tree)):
        raise PlanscopeError(f'"{text}" is no condition: it holds at every event or at none; an example: kind == "prune"')
    by_state = any(isinstance(part, ast.Call) or (isinstance(part, ast.Name) and part.id in NAMES) for part in ast.walk(tree))
    return Condition(lambda event, state: bool(node(event, state)), by_state)


def _compile(node: ast.expr, text: str, depth: int) -> _Node:
    """`depth`: how many more levels there may be."""
    if depth == 0:
        raise PlanscopeError(f"the condition is nested too deep: {DEEPEST} levels are allowed")

    def below(*parts: ast.expr) -> list[_Node]:
        return [_compile(part, text, depth - 1) for part in parts]

    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None as value):
            constant = _read(value)
            return lambda event, state: constant
        case ast.Name(id=name):
            return _name(name, alone=text.strip() == name)
        case ast.BoolOp(op=op, values=values):
            return _bool(isinstance(op, ast.And), below(*values))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            (term,) = below(operand)
            return lambda event, state: not term(event, state)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _arithmetic(operator.sub, lambda event, state: 0, *below(operand))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            return _arithmetic(_ARITHMETIC[type(op)], *below(left, right))
        case ast.Compare(left=left, ops=ops, comparators=others):
            if isinstance(left, ast.Name) and left.id == "kind":
                _check_kinds(others)
            for how, a, b in zip(ops, (left, *others), others, strict=False):
                if not isinstance(how, ast.In | ast.NotIn):
                    _check_alike(a, b, text)
            return _comparison([_COMPARISONS[type(op)] for op in ops], below(left, *others))
        case ast.List(elts=items) | ast.Tuple(elts=items):
            terms = below(*items)
            return lambda event, state: [each(event, state) for each in terms]
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]):
            if name in FUNCTIONS and (shapes := _shapes(argument)) is not None and "a number" not in shapes:
                raise PlanscopeError(f"{name}(n) takes a number, not {_source(argument, text)}, which is {_either(shapes)}")
            return _call(name, *below(argument))
    raise PlanscopeError(
        f'a condition cannot have "{_source(node, text)}": there are names, numbers, texts, comparisons, and, or, not, + - * /'
    )


def _check_kinds(terms: list[ast.expr]) -> None:
    """Raises PlanscopeError where `kind` is compared with what is no kind of events."""
    for part in (part for term in terms for part in (term.elts if isinstance(term, ast.List | ast.Tuple) else [term])):
        kind, known = (part.value if isinstance(part, ast.Constant) else None), vocabulary().kinds
        if isinstance(kind, str) and kind not in known:
            raise PlanscopeError(f'no event is of kind "{kind}"; {did_you_mean(kind, known, "they are in docs/traces.md")}')


def _check_alike(left: ast.expr, right: ast.expr, text: str) -> None:
    """Raises PlanscopeError for a comparison of what can never be equal, as a list and a text."""
    a, b = _shapes(left), _shapes(right)
    if a is not None and b is not None and not a & b:
        one, other = _source(left, text), _source(right, text)
        raise PlanscopeError(f"{one} is {_either(a)}, and {other} {_either(b)}: they are never alike")


def _shapes(node: ast.expr) -> set[str] | None:
    """What the values of a part can be, in words; None where that is not known, or anything."""
    match node:
        case ast.Constant(value=str() as value):
            return {"a number" if value == "inf" else "a text"}
        case ast.Constant(value=int() | float()) | ast.BinOp() | ast.UnaryOp(op=ast.USub()):
            return {"a number"}
        case ast.List() | ast.Tuple():
            return {"a list"}
        case ast.Call(func=ast.Name(id=name)):
            return {"a text" if name == "status" else "a number"}
        case ast.Name(id=name) if name in NAMES or name == "inf":
            return {"a number"}
        case ast.Name(id=name):
            known = vocabulary()
            kinds = (known.common, *(kind.fields for kind in known.kinds.values()))
            types = {fields[name].type for fields in kinds if name in fields}
            if types and not types & {"values", "data"}:
                return {"a text" if t in _TEXTS else "a list" if t in _LISTS else "a number" for t in types}
    return None


def _either(shapes: set[str]) -> str:
    return " or ".join(sorted(shapes))


def _source(node: ast.expr, text: str) -> str:
    return ast.get_source_segment(text.strip(), node) or text


def _name(name: str, alone: bool) -> _Node:
    if name in NAMES:
        of_state = NAMES[name][1]
        return lambda event, state: of_state(state)
    if name == "inf":
        return lambda event, state: inf
    known = vocabulary()
    fields = {*known.common, *(field for kind in known.kinds.values() for field in kind.fields)}
    if name not in fields:
        others = f"fields are in docs/traces.md, other names are {', '.join(NAMES)}"
        raise PlanscopeError(
            f'no event has a field "{name}"; {did_you_mean(name, [*fields, *NAMES, *(known.kinds if alone else ())], others)}'
        )
    return lambda event, state: _read(event.get(name))


def _read(value: Value) -> Value:
    """Infinity is a text in traces, as JSON has no number for it."""
    return inf if value == "inf" else value


def _call(name: str, argument: _Node) -> _Node:
    if name not in FUNCTIONS:
        raise PlanscopeError(f'there is no function "{name}" for conditions; there are {", ".join(f"{f}(n)" for f in FUNCTIONS)}')
    function = FUNCTIONS[name][1]

    def call(event: Event, state: MemoState) -> Value:
        number = argument(event, state)
        return function(state, number) if isinstance(number, int) else None

    return call


def _bool(every: bool, terms: list[_Node]) -> _Node:
    test = all if every else any
    return lambda event, state: test(term(event, state) for term in terms)


def _arithmetic(op: Callable[[Any, Any], Any], left: _Node, right: _Node) -> _Node:
    def compute(event: Event, state: MemoState) -> Value:
        a, b = left(event, state), right(event, state)
        if not isinstance(a, int | float) or not isinstance(b, int | float):
            return None
        try:
            return op(a, b)
        except (ZeroDivisionError, OverflowError):
            return None

    return compute


def _comparison(ops: list[Callable[[Any, Any], bool]], terms: list[_Node]) -> _Node:
    def compare(event: Event, state: MemoState) -> bool:
        values = [term(event, state) for term in terms]
        try:
            return all(op(a, b) for op, a, b in zip(ops, values, values[1:], strict=False))
        except TypeError:  # of what cannot be compared, as None with a number
            return False

    return compare


def _root(state: MemoState) -> GoalState | None:
    return None if state.root is None else state.goals.get(state.root)


def _cost(goal: GoalState | None) -> float | None:
    return None if goal is None or goal.best is None else goal.best.cost
