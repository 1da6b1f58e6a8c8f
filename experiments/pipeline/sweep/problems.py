"""Mistakes in a specification, collected, so that one message names them all before anything is started."""

from __future__ import annotations

from collections.abc import Collection

from optimizer.errors import PlanscopeError, did_you_mean
from optimizer.toml_places import Places


class SpecError(PlanscopeError):
    """A specification that cannot be carried out: every mistake in it, each with its place."""


class Problems:
    """Mistakes so far, in the order of their lines."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self._found: list[tuple[int, str]] = []

    def add(self, text: str, table: str, key: str = "", element: str | None = None, number: int = 0) -> None:
        """Note a mistake in the value of `key` of `table`; further lines of `text` are hints."""
        line = self.places.line(table, key, element, number)
        where = ("" if line is None else f"line {line}: ") + f"[{table}]" + (f" {key}" if key else "")
        entry = f"{where}: " + text.replace("\n", "\n    ")
        if entry not in (known for _, known in self._found):
            self._found.append((line or 0, entry))

    def unknown_keys(self, given: Collection[str], known: Collection[str], table: str) -> None:
        """Note every key of `given` that is not `known`."""
        for key in given:
            if key not in known:
                self.add(f"there is no {key} here; {suggestion(key, known)}", table, key)

    def __len__(self) -> int:
        return len(self._found)

    def check(self) -> None:
        """Raises SpecError when there are any."""
        if not self._found:
            return
        name = self.places.file or "the specification"
        found = [text for _, text in sorted(self._found, key=lambda each: each[0])]
        if len(found) == 1:
            raise SpecError(f"{name}, {found[0]}")
        raise SpecError(f"{name} has {len(found)} mistakes\n" + "\n".join(f"  {text}" for text in found))


def suggestion(word: str, known: Collection[str]) -> str:
    """`did you mean "…"?`, or what there is."""
    return did_you_mean(word, known, "there are " + ", ".join(known))
