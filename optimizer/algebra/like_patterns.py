"""Patterns of LIKE taken apart, for those who need not ask the reference (`evaluate_strings.like`) about every text."""

from enum import Enum


class Wildcard(Enum):
    """ANY stands for any run of characters, ONE for one."""

    ANY = "%"
    ONE = "_"


def like_parts(pattern: str, escape: str) -> list[str | Wildcard] | None:
    """The pattern as texts and wildcards, never two texts or two of ANY in a row; None where only the reference knows what an
    odd escape means."""
    if len(escape) > 1 or escape in ("%", "_"):
        return None
    parts: list[str | Wildcard] = []
    characters = iter(pattern)
    for character in characters:
        before = parts[-1] if parts else None
        if character in "%_":
            if before is not Wildcard.ANY or character == "_":
                parts.append(Wildcard(character))
            continue
        if character == escape:
            character = next(characters, "")
            if not character:
                return None
        if isinstance(before, str):
            parts[-1] = before + character
        else:
            parts.append(character)
    return parts
