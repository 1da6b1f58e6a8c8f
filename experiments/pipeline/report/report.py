"""Writes the report of a sweep: tables, figures, and one page that shows them.

DIR/report/report.md              the page; report.html, the same for a browser
DIR/report/by_variant.parquet     and .csv, .md, .tex; so for by_query, by_relations, errors
DIR/report/planning_time.svg      and .pdf; so for the other figures
"""

import html
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from executor.atomic import make_folder, write_file
from experiments.bench.store import ROWS
from experiments.bench.tables import code, html_table, markdown, write_table
from experiments.pipeline.spark.manifest import finished, read_manifest, write_manifest
from experiments.pipeline.spark.session import Say, Start, unheard
from experiments.pipeline.sweep.plan import SweepPlan, read_plan
from experiments.pipeline.sweep.problems import suggestion
from experiments.pipeline.sweep.run import check_complete, run_folder, runs
from memo_viz.page_style import PAGE_STYLE
from optimizer.errors import CatalogError, OutputError, PlanscopeError, many

STAGE = "report"
FOLDER = "report"
_BEGUN = ".planscope"  # in a folder of reports
_VERSION = 6  # of what a report holds: reports of another one are made again
_HEAD = f"""<!doctype html>
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{title}}</title>
<style>{PAGE_STYLE}</style>"""
_ON_THE_PAGE = {
    "by_variant": "Variants (ratios: geometric means over queries)",
    "errors": "Errors",
    "by_relations": "By number of base tables (medians)",
}


@dataclass(frozen=True)
class Report:
    """`made`: by this call. `files` by their path within the folder of the pipeline; `page` shows them."""

    run: str
    baseline: str
    files: tuple[str, ...]
    made: bool
    page: str = f"{FOLDER}/report.md"


def write_report(out: Path, spark: Start, baseline: str | None = None, run: str | None = None, say: Say = unheard) -> Report:
    """The report of a complete sweep in `out/results`: of the run named, else of the one begun last. `baseline`: the variant
    that others are compared with, by default the first. Nothing is done, and `spark` not called, where the same report is
    there. Raises CatalogError, PipelineError, OutputError."""
    out = out.absolute()
    if not (known := runs(out)):
        raise CatalogError(f"there are no results of a sweep in {out}")
    if run is not None and run not in known:
        raise CatalogError(f'there is no run "{run}" in {out}; {suggestion(run, known)}')
    run = known[-1] if run is None else run
    folder = run_folder(out, run)
    plan = read_plan(folder)
    names = [variant.name for variant in plan.variants]
    if baseline is not None and baseline not in names:
        raise PlanscopeError(f'there is no variant "{baseline}" in the sweep; {suggestion(baseline, names)}')
    baseline = names[0] if baseline is None else baseline
    check_complete(folder)
    rows = (folder / ROWS).stat()  # of the same results these are the same
    inputs = {"run": run, "results": {ROWS: [rows.st_size, rows.st_mtime_ns]}}
    settings = {"baseline": baseline, "version": _VERSION}
    if (manifest := finished(out, STAGE, inputs, settings)) is not None:
        return Report(run, baseline, tuple(manifest["files"]), made=False)
    say(f"report of sweep {run}: {many(plan.size, 'item')}, {many(len(plan.variants), 'variant')}")
    from experiments.pipeline.report.aggregate import aggregate

    tables = aggregate(spark(), folder, baseline)
    files = _write(tables, plan, baseline, run, _cleared(out))
    counts = {name: table.num_rows for name, table in tables.items()}
    write_manifest(out, STAGE, inputs=inputs, settings=settings, counts=counts, files=files)
    return Report(run, baseline, tuple(path.relative_to(out).as_posix() for path in files), made=True)


def _cleared(out: Path) -> Path:
    """The folder of the report, without the files of the one before; what else is in it stays. Raises OutputError for a folder
    that no report was written into."""
    target, before = out / FOLDER, read_manifest(out, STAGE)
    begun = target / _BEGUN
    if before is None and not begun.exists() and target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise OutputError(f"{target} is there, and no report of planscope's\nmove it out of the way")
    make_folder(target)
    write_file(begun, "")
    for name in before["files"] if before is not None else ():
        (target / Path(name).name).unlink(missing_ok=True)  # whatever the manifest says: nothing outside
    return target


def _write(tables: dict[str, pa.Table], plan: SweepPlan, baseline: str, run: str, folder: Path) -> list[Path]:
    from experiments.bench.figures import draw, write_figure
    from experiments.pipeline.report.figures import make_figures

    files = [path for name, table in tables.items() for path in write_table(table, folder, name)]
    figures = []
    for figure in make_figures(tables, [variant.name for variant in plan.variants], baseline):
        if (drawing := draw(figure)) is not None:
            files += write_figure(drawing, folder, figure.name)
            figures.append(figure.name)
    seeds, executed = f", {len(plan.seeds)} seeds" if plan.seeds else "", ", executed" if plan.execute else ""
    queries, variants = many(len(plan.queries), "query"), many(len(plan.variants), "variant")
    what = f"{queries}, {variants}{seeds}: {many(plan.size, 'item')}{executed}. Ratios are to the variant"
    parts = [  # of the page as Markdown, and as HTML
        (f"# Sweep {run}", f"{_HEAD.replace('{title}', f'Sweep {run}')}\n<h1>Sweep {run}</h1>"),
        (f"{what} {code(baseline)}.", f"<p>{what} <code>{html.escape(baseline)}</code>.</p>"),
    ]
    for name, title in _ON_THE_PAGE.items():
        if (table := tables[name]).num_rows:
            parts.append((f"## {title}\n\n{markdown(table).rstrip()}", f"<h2>{title}</h2>\n{html_table(table).rstrip()}"))
        if name == "by_variant":
            parts += [(f"![{each}]({each}.svg)", f'<p><img src="{each}.svg" alt="{each}"></p>') for each in figures]
    by_query = '<p>By query: <a href="by_query.csv">by_query.csv</a>.</p>'
    parts.append(("By query: [by_query.md](by_query.md), [by_query.csv](by_query.csv).", by_query))
    pages = [folder / "report.md", folder / "report.html"]
    for page, texts, gap in zip(pages, zip(*parts, strict=True), ("\n\n", "\n"), strict=True):
        write_file(page, gap.join(texts) + "\n")
    return [*pages, *files]
