"""python -m experiments.documentation.site: the site of docs/, in build/site. `make docs` calls it.

A copy of docs/ gets a page for each rule, pictures as the code makes them now, and what Sphinx needs beyond Markdown. Warnings,
broken links among them, are errors.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from experiments.documentation import rules
from experiments.documentation.blocks import Picture, parts
from experiments.documentation.written import DOCS, pages, references, shown

BUILD = DOCS.parent / "build"
_FRAME = '<iframe src="{}" title="{}" style="width:100%;height:640px;border:1px solid #8888" loading="lazy"></iframe>'


def main() -> int:
    source = BUILD / "docs"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(DOCS, source)
    (source / "_extra").mkdir()
    for name, text in references().items():
        (source / name).write_text(text, "utf-8")
    listing = source / "reference" / "rules.md"
    listing.write_text(
        rules.linked(listing.read_text("utf-8")) + _toctree("", [f"rules/{rule.name}" for rule in rules.rule_pages()]), "utf-8"
    )
    for rule in rules.rule_pages():
        page = source / "reference" / "rules" / f"{rule.name}.md"
        page.parent.mkdir(exist_ok=True)
        page.write_text(rules.page(rule), "utf-8")
    for page in pages():
        if any(isinstance(part, Picture) for part in parts(page.read_text("utf-8"))):
            for target, picture in shown(page).pictures.items():
                _write_picture(source, page.relative_to(DOCS), target, picture)
    for page in source.rglob("*.md"):
        page.write_text(_for_sphinx(page.read_text("utf-8"), page == source / "index.md"), "utf-8")
    options = ["-W", "--keep-going", "-q", "-j", "2", "-b", "html", "-d", str(BUILD / "doctrees")]
    done = subprocess.run([sys.executable, "-m", "sphinx", *options, str(source), str(BUILD / "site")], check=False)
    if done.returncode == 0:
        print(f"the site is in {(BUILD / 'site' / 'index.html').relative_to(DOCS.parent)}")
    return done.returncode


def _write_picture(source: Path, page: Path, target: str, text: str) -> None:
    """Pages go to the site as they are, pictures with the page that shows them."""
    file = (source / "_extra" if target.endswith(".html") else source) / page.parent / target
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")


def _for_sphinx(page: str, is_index: bool) -> str:
    """Blocks with kinds that Sphinx knows, pages in frames, and the lists of the first page as the tree of the site."""
    page = re.sub(r"^```output$", "```text", page, flags=re.MULTILINE)
    page = re.sub(r"^```(\w+) (\S+\.\w+)$", r"```{code-block} \1\n:caption: \2\n", page, flags=re.MULTILINE)
    page = page.replace("```{code-block} csv\n", "```{code-block} text\n")
    page = re.sub(
        r"^\[([^\]]*)\]\((\S+\.html)\)$",
        lambda found: "```{raw} html\n" + _FRAME.format(found[2], found[1]) + "\n```",
        page,
        flags=re.MULTILINE,
    )
    if is_index:
        for caption, text in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL):
            targets = re.findall(r"^- \[[^\]]*\]\(([^)]*)\.md\)", text, re.MULTILINE)
            page += _toctree(caption, targets) if targets else ""
    return page


def _toctree(caption: str, targets: list[str]) -> str:
    return "\n".join(["", "```{toctree}", ":hidden:", *([f":caption: {caption}"] if caption else []), "", *targets, "```", ""])


if __name__ == "__main__":
    sys.exit(main())
