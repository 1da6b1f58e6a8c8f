"""python -m experiments.documentation [PAGE...]: writes what is written from the code, and what pages show, into docs/.

All pages, or those named, `docs/tutorial.md`.
"""

import sys
from pathlib import Path

from experiments.documentation.run import PageError
from experiments.documentation.written import DOCS, pages, references, shown, words_of


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists() or file.read_text("utf-8") != text:
        file.write_text(text, "utf-8")
        print(f"wrote {file}")


def main(names: list[str]) -> int:
    if {"-h", "--help"} & set(names):
        print(__doc__)
        return 0
    wanted = [Path(name).resolve() for name in names]
    for page in wanted or pages():
        try:
            found = shown(page)
        except (PageError, OSError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        write(page, found.text)
        for target, picture in found.pictures.items():
            file = page.parent / target
            if target.endswith(".svg") and (not file.exists() or words_of(file.read_text("utf-8")) != words_of(picture)):
                write(file, picture)
    for name, text in references().items():
        write(DOCS / name, text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
