"""The report of a run: one page with everything in it, and files of its tables and figures for a paper."""

import html
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from executor.atomic import atomic_output, make_folder, write_file
from experiments.bench.experiment import Figure, Section, Table
from experiments.bench.figures import draw, write_figure
from experiments.bench.tables import flat, html_table, latex
from memo_viz.page_style import PAGE_STYLE
from optimizer.errors import many

_LISTED = "_report.txt"  # the files in tables and figures that the report wrote
LONG = 30  # rows from which on a table is folded
_ITEM_COLUMNS = ("status", "error_kind", "error", "item_s")
_HIDDEN = ("item", "bug", "item_cpu_s", "peak_mb")
_LAST = ("sql", "rss_mb", "attempts")
_STYLE = """
figure{margin:1rem 0 1.6rem}figcaption,.caption{margin-top:1rem}.source{color:var(--soft);font-size:12px}
dl{display:grid;grid-template-columns:max-content auto;gap:.1rem 1rem;font-size:13px}dd{margin:0}
"""


def write_report(folder: Path, title: str, sections: Sequence[Section], about: dict[str, Any]) -> list[Path]:
    """report.html, tables/ and figures/ in `folder`, without what the report before wrote there; the files written. `about`:
    environment.json. Raises OutputError."""
    tables, figures = make_folder(folder / "tables"), make_folder(folder / "figures")
    written = [folder / "report.html"]
    svgs: dict[str, str] = {}
    for section in sections:
        for table in section.tables:
            written += [_write_csv(table.data, tables / f"{table.name}.csv"), tables / f"{table.name}.tex"]
            write_file(written[-1], latex(flat(table.data)))
        for figure in section.figures:
            made = draw(figure)
            if made is not None:
                written += [_write_csv(figure.data, figures / f"{figure.name}.csv"), *write_figure(made, figures, figure.name)]
                svgs[figure.name] = _inline((figures / f"{figure.name}.svg").read_text(encoding="utf-8"), figure)
    listed = folder / _LISTED
    before = listed.read_text(encoding="utf-8", errors="replace").splitlines() if listed.is_file() else []
    for path in {*tables.iterdir(), *figures.iterdir()}.difference(written):
        if f"{path.parent.name}/{path.name}" in before:
            path.unlink()
    write_file(listed, "".join(f"{path.parent.name}/{path.name}\n" for path in written[1:]))
    write_file(written[0], _page(title, sections, svgs, about))
    return written


def failed_section(rows: pa.Table) -> list[Section]:
    """The items that failed, with the reason of each; those that are bugs are problems. None where none failed."""
    found = [{**row, "error": _one_line(row["error"])} for row in rows.to_pylist() if row["status"] != "ok"]
    if not found:
        return []
    kinds = Counter(row["status"] for row in found)
    names = [name for name in rows.column_names if name not in (*_ITEM_COLUMNS, *_HIDDEN)]
    kept = [name for name in names if any(row[name] is not None for row in found)]
    told = [name for name in kept[1:] if name not in _LAST and len(set(map(str, rows[name].to_pylist()))) > 1]
    order = dict.fromkeys((*kept[:1], *told, *_ITEM_COLUMNS, *kept))
    table = pa.Table.from_pylist([{name: row.get(name) for name in order} for row in found])
    text = "They have no figures and are left out above: " + ", ".join(f"{count:,} {kind}" for kind, count in kinds.items()) + "."
    bugs = dict.fromkeys(f"{row['error_kind']}: {row['error']}" for row in found if row.get("bug"))
    caption = "Items without a result, and why."
    title = f"{many(len(found), 'item')} failed"
    return [Section(title, text, [Table("failed", caption, table)], problems=list(bugs))]


def _one_line(error: str) -> str:
    """Lines apart by semicolons, but for one that ends at a comma, which goes on in the next."""
    return "; ".join(error.replace(",\n", ", ").splitlines())


def _write_csv(table: pa.Table, path: Path) -> Path:
    with atomic_output(path) as file:
        pyarrow.csv.write_csv(flat(table), file)
    return path


def _inline(svg: str, figure: Figure) -> str:
    """The drawing for a page that has others: without the head of a file, and its ids its own."""
    drawing = svg[svg.index("<svg") :]
    drawing = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{figure.name}-", drawing)
    return drawing.replace("<svg", f'<svg role="img" aria-label="{html.escape(figure.caption)}"', 1)


def _page(title: str, sections: Sequence[Section], svgs: dict[str, str], about: dict[str, Any]) -> str:
    command = html.escape("; ".join(about["commands"]))
    parts = ['<!doctype html>\n<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">']
    parts.append(f"<title>{html.escape(title)}</title><style>{PAGE_STYLE}{_STYLE}</style>\n<h1>{html.escape(title)}</h1>")
    code = f", code {about['code']}" if "code" in about else ""
    parts.append(f'<p class="source">made by <code>{command}</code>, {html.escape(about["started"] + code)}</p>')
    parts += [f'<p class="problem">{_text(problem)}</p>' for section in sections for problem in section.problems]
    for section in sections:
        parts.append(f"<h2>{html.escape(section.title)}</h2>")
        parts += [f"<p>{_text(paragraph)}</p>" for paragraph in section.text.split("\n\n") if paragraph.strip()]
        for figure in section.figures:
            if figure.name in svgs:
                source = f"figures/{figure.name}.svg, .pdf, .csv; made by <code>{command}</code>"
                caption = f'<figcaption>{_text(figure.caption)}<br><span class="source">{source}</span></figcaption>'
                parts.append(f"<figure>{svgs[figure.name]}{caption}</figure>")
        for table in section.tables:
            source = f'<span class="source">tables/{table.name}.csv, .tex</span>'
            shown = html_table(flat(table.data))
            if table.data.num_rows > LONG:
                shown = f"<details><summary>{many(table.data.num_rows, 'row')}</summary>{shown}</details>"
            parts.append(f'<p class="caption">{_text(table.caption)} {source}</p>{shown}')
    facts = [(name, value) for name, value in about.items() if value not in (None, [], {})]
    parts.append("<h2>What this depends on</h2><dl>")
    parts += [f"<dt>{html.escape(name)}</dt><dd>{html.escape(_fact(value))}</dd>" for name, value in facts]
    return "\n".join([*parts, "</dl></html>"]) + "\n"


def _text(text: str) -> str:
    """Text for the page; what stands between backticks is code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text))


def _fact(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {each}" for name, each in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
