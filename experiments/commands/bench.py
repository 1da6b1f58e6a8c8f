"""planscope bench: experiments that compare parts of the optimizer with one another."""

from __future__ import annotations

import click

from experiments.commands.inputs import progress
from experiments.commands.output import table_text


@click.group("bench")
def command() -> None:
    """Experiments that compare parts of the optimizer; each prints tables and writes them with -o."""


@command.command("enumeration")
@click.argument("graphs", nargs=-1, metavar="[GRAPH]...")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, metavar="S", help="Seed of cardinalities and selectivities."
)
@click.option("--max-work", type=click.IntRange(1), default=1_000_000, show_default=True, metavar="N",
              help="Leave out what is predicted to take more steps.")  # fmt: skip
@click.option("-o", "--output", metavar="DIR", help="Write enumeration.csv and enumeration.json there as well.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
def enumeration(graphs: tuple[str, ...], seed: int, max_work: int, output: str | None, quiet: bool) -> None:
    """Join enumerators on join graphs: pairs, inner counters, time, and cost compared with the optimum.

    Costs are rows of intermediate results (C_out). It fails if exact enumerators differ.

    \b
    planscope bench enumeration
    planscope bench enumeration clique/12 star/14 grid/3x4 random/12/1 -o results
    """
    from experiments.enumeration import GRAPHS, compare, describe, write_results

    head = ("enumerator", "kind", "inner", "joins costed", "ms", "µs/pair", "cost", "ratio")
    done = []
    for comparison in compare(graphs or GRAPHS, seed, max_work, progress(quiet)):
        done.append(comparison)
        title, rows, left_out = describe(comparison)
        click.echo("\n".join([title, table_text(head, _right_aligned(head, rows)), *left_out, ""]))
    if output is not None:
        for path in write_results(done, output):
            click.echo(f"wrote {path}", err=True)


def _right_aligned(head: tuple[str, ...], rows: list[tuple[str, ...]], texts: int = 2) -> list[tuple[str, ...]]:
    """Cells but for the first `texts` columns, as wide as their column and to its right."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return [(*row[:texts], *(cell.rjust(width) for cell, width in zip(row[texts:], widths[texts:], strict=True))) for row in rows]
