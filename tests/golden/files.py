"""Files of golden cases, parted by ==== and ----."""

from pathlib import Path


def read_cases(path: Path) -> tuple[str, list[tuple[str, str, str]]]:
    """The file's opening comment, and of each case its title, what stands above ---- and what stands below."""
    head, *parts = path.read_text("utf-8").split("==== ")
    cases = []
    for part in parts:
        title, _, rest = part.partition("\n")
        given, _, expected = rest.partition("\n----\n")
        cases.append((title, given, expected.rstrip("\n")))
    return head, cases
