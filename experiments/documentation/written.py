"""Pages that are written from the code, and what the other pages show of a run."""

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from experiments.documentation import commands, formats, functions, operators, rules, settings, traces
from experiments.documentation.notebooks import notebook
from experiments.documentation.run import Shown, carry_out

DOCS = Path(__file__).parent.parent.parent / "docs"


def references() -> dict[str, str]:
    """Pages written from the code, and the notebooks of the course: path below docs/ to text."""
    written = {
        "reference/settings.md": settings.page(),
        "reference/operators.md": operators.page(),
        "reference/rules.md": rules.listing(),
        "reference/commands.md": commands.page(),
        "reference/formats.md": formats.page(),
        "functions.md": functions.page(),
        "traces.md": traces.page(),
    }
    for lesson in sorted((DOCS / "course").glob("*.md")):
        written[f"course/{lesson.stem}.ipynb"] = notebook(lesson.stem, lesson.read_text("utf-8"))
    return written


def pages() -> Iterator[Path]:
    """The pages that have something to run or to show."""
    written = set(references())
    for page in sorted(DOCS.rglob("*.md")):
        name = page.relative_to(DOCS).as_posix()
        if name not in written and "```" in page.read_text("utf-8"):
            yield page


def shown(page: Path) -> Shown:
    """The page as it should be, carried out in a folder of its own. Raises PageError."""
    with TemporaryDirectory(prefix="planscope-page-") as folder:
        return carry_out(page, Path(folder))


def words_of(svg: str) -> list[str]:
    """What a picture says: its places differ between releases of graphviz, its words do not."""
    return sorted(re.findall(r"<text[^>]*>([^<]*)</text>", svg))
