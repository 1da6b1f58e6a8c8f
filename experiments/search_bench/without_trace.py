"""A copy of the search whose trace code is gone, to find out what that code costs while nothing is traced.

The modules of the rooms `memo` and `search` are read, changed and run again under other names. Gone are

    if trace is not None: …        and every other statement that only runs when something is traced or kept (`keep`)
    search.emit_best(…)            calls of methods that have nothing left to do
    traits = …                     local names that nothing reads any more, where computing them has no effect

Everything else, imports between the copies apart, stays as it is. A copy with nothing removed is made in the same way: only
these two are compared, so that what copying itself changes is in both.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

ORIGINAL = "optimizer"
ROOMS = ("memo", "search")
NEEDED = ("memo.memo", "search.search", "search.extract", "search.figures")
PURE_CALLS = ("len",)


class Copy:
    """The modules of a copy: `copy.module("search.search")`."""

    def __init__(self, modules: dict[str, ModuleType]) -> None:
        self._modules = modules

    def module(self, name: str) -> ModuleType:
        return self._modules[name]


def copy_of_the_search(name: str, traced: bool) -> Copy:
    """Load the copy as package `name`; without the trace code unless `traced`."""
    silent = frozenset() if traced else silent_methods()
    finder = _CopyFinder(name, (lambda tree: tree) if traced else (lambda tree: without_trace(tree, silent)))
    with _registered(finder):
        return Copy({module: import_module(f"{name}.{module}") for module in NEEDED})


def sources() -> dict[str, str]:
    """The source of every module copied, by its name within `optimizer`."""
    found = {}
    for room in ROOMS:
        folder = _file_of(f"{ORIGINAL}.{room}").parent
        for file in sorted(folder.rglob("*.py")):
            parts = [room, *file.relative_to(folder).with_suffix("").parts]
            found[".".join(part for part in parts if part != "__init__")] = file.read_text(encoding="utf-8")
    return found


def silent_methods() -> frozenset[str]:
    """Names of functions that have a body only for the trace; no other function may bear such a name."""
    emptied: set[str] = set()
    others: set[str] = set()
    for source in sources().values():
        tree = ast.parse(source)
        full = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and not _says_nothing(node.body)}
        for node in ast.walk(without_trace(tree, frozenset())):
            if isinstance(node, ast.FunctionDef) and node.name in full:
                (emptied if _says_nothing(node.body) else others).add(node.name)
    return frozenset(emptied - others)


def without_trace(tree: ast.Module, silent: frozenset[str]) -> ast.Module:
    """The module without code that only runs for a trace, and without calls of `silent` methods. Changes `tree`."""
    stripped: ast.Module = _Stripper(silent).visit(tree)
    for function in [node for node in ast.walk(stripped) if isinstance(node, ast.FunctionDef)]:
        while _drop_unread(function):
            pass
    return ast.fix_missing_locations(stripped)


class _Stripper(ast.NodeTransformer):
    def __init__(self, silent: frozenset[str]) -> None:
        self._silent = silent

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        test = _simplified(node.test)
        if isinstance(test, bool):
            return node.body if test else node.orelse
        node.test = test
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in self._silent:
            return None
        return self.generic_visit(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if not isinstance(node, ast.Module):
            _fill(node)
        return node


def _fill(node: ast.AST) -> None:
    """A block that has become empty gets a `pass`."""
    body = getattr(node, "body", None)
    if isinstance(body, list) and not body:
        body.append(ast.Pass())


def _simplified(test: ast.expr) -> ast.expr | bool:
    """A condition where nothing is traced: True, False, or what is left of it."""
    match test:
        case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]) if _is_switch(left, "trace"):
            return False
        case ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Constant(value=None)]) if _is_switch(left, "trace"):
            return True
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _simplified(operand)
            return not inner if isinstance(inner, bool) else ast.UnaryOp(ast.Not(), inner)
        case ast.BoolOp(op=op, values=values):
            decisive = isinstance(op, ast.Or)
            left_over: list[ast.expr] = []
            for value in map(_simplified, values):
                if not isinstance(value, bool):
                    left_over.append(value)
                elif value is decisive:
                    return decisive
            if not left_over:
                return not decisive
            return left_over[0] if len(left_over) == 1 else ast.BoolOp(op, left_over)
    return False if _is_switch(test, "keep") else test


def _is_switch(node: ast.expr, name: str) -> bool:
    return (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.Attribute) and node.attr == name)


def _says_nothing(body: Sequence[ast.stmt]) -> bool:
    """Only a docstring, or less."""
    return all(isinstance(s, ast.Pass) or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)) for s in body)


def _names_read(function: ast.FunctionDef) -> set[str]:
    """Names whose value matters somewhere: those read, added to, deleted, or not the function's own."""
    read: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            read.add(node.id)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            read.add(node.target.id)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            read.update(node.names)
    return read


def _drop_unread(function: ast.FunctionDef) -> bool:
    """Remove assignments to local names that nothing reads, if they have no effect; whether there were any."""
    read = _names_read(function)
    dropped = False

    def unread(target: ast.expr, value: ast.expr) -> bool:
        return isinstance(target, ast.Name) and target.id not in read and _is_pure(value)

    class Dropper(ast.NodeTransformer):
        def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
            nonlocal dropped
            if len(node.targets) != 1:
                return node
            target, value = node.targets[0], node.value
            if unread(target, value):
                dropped = True
                return None
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                kept = [(t, v) for t, v in zip(target.elts, value.elts, strict=True) if not unread(t, v)]
                if len(kept) < len(target.elts):
                    dropped = True
                    if not kept:
                        return None
                    if len(kept) == 1:
                        return ast.Assign([kept[0][0]], kept[0][1])
                    targets, values = [t for t, _ in kept], [v for _, v in kept]
                    return ast.Assign([ast.Tuple(targets, ast.Store())], ast.Tuple(values, ast.Load()))
            return node

    Dropper().visit(function)
    for node in ast.walk(function):
        _fill(node)
    return dropped


def _is_pure(value: ast.expr) -> bool:
    """Whether computing it has no effect: names, attributes, constants, items, conditions, and calls of harmless built-ins."""
    harmless = (ast.Name, ast.Attribute, ast.Constant, ast.Subscript, ast.IfExp, ast.Compare, ast.BoolOp, ast.BinOp, ast.UnaryOp,
                ast.expr_context, ast.cmpop, ast.operator, ast.boolop, ast.unaryop)  # fmt: skip
    for node in ast.walk(value):
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name) or node.func.id not in PURE_CALLS:
                return False
        elif not isinstance(node, harmless):
            return False
    return True


class _CopyFinder(MetaPathFinder, Loader):
    """Finds `name.memo.group` by the source of `optimizer.memo.group`, changed by `change`; its imports of the copied rooms are
    imports of the copy."""

    def __init__(self, name: str, change: Callable[[ast.Module], ast.Module]) -> None:
        self._name, self._change = name, change

    def find_spec(self, fullname: str, path: object = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != self._name and not fullname.startswith(f"{self._name}."):
            return None
        original = ORIGINAL + fullname.removeprefix(self._name)
        is_package = fullname == self._name or _file_of(original).name == "__init__.py"
        return ModuleSpec(fullname, self, is_package=is_package)

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ == self._name:
            return
        file = _file_of(ORIGINAL + module.__name__.removeprefix(self._name))
        tree = self._change(ast.parse(file.read_text(encoding="utf-8")))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module is not None and _is_copied(node.module):
                node.module = self._name + node.module.removeprefix(ORIGINAL)
        exec(compile(tree, f"{file} ({self._name})", "exec"), module.__dict__)


@contextmanager
def _registered(finder: _CopyFinder) -> Iterator[None]:
    """Imports go through the finder within the block; afterwards only what holds its modules knows of them."""
    name = finder._name
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for module in [module for module in sys.modules if module == name or module.startswith(f"{name}.")]:
            del sys.modules[module]


def _is_copied(module: str) -> bool:
    return any(module == f"{ORIGINAL}.{room}" or module.startswith(f"{ORIGINAL}.{room}.") for room in ROOMS)


def _file_of(module: str) -> Path:
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None, f"there is no source of {module}"
    return Path(spec.origin)
