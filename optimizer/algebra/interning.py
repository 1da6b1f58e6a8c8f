"""Interned objects: building the same one twice gives the same object, as long as somebody uses it.

As with a WeakValueDictionary, in half its time, and with one object for each key also where several threads build it at once.
"""

from threading import RLock
from typing import Any
from weakref import ref


class _Live(ref):  # type: ignore[type-arg]
    """A reference to an object that is used somewhere, and its key."""

    __slots__ = ("key",)
    key: tuple[Any, ...]


_live: dict[tuple[Any, ...], _Live] = {}
_changing = RLock()  # an object may die while the thread that holds the lock makes another


def _forget(dead: _Live, live: dict[tuple[Any, ...], _Live] = _live, changing: Any = _changing) -> None:
    """Also when the interpreter ends, and the names of the module are gone."""
    with changing:
        there = live.pop(dead.key, None)
        if there is not None and there is not dead:
            live[dead.key] = there


class Interning(type):
    """Metaclass: `Call("+", (a, b), t)` returns the one live object with these fields. `key_of`: what stands for the fields of a
    class, where equal ones make different objects. Keys are looked up as few times as can be: to hash a type takes its time."""

    key_of: Any = None

    def __call__(cls, *args: Any) -> Any:
        key = (cls, *args) if cls.key_of is None else (cls, *cls.key_of(*args))
        live = _live.get(key)
        found = None if live is None else live()
        if found is None:
            made = super().__call__(*args)
            new = _Live(made, _forget)
            new.key = key
            with _changing:
                found = _live.setdefault(key, new)()  # another thread may have been quicker
                if found is None:
                    found, _live[key] = made, new
        return found
