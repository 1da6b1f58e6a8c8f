"""planscope calibrate: measures the operators on this machine and fits the cost model's coefficients."""

import click

from experiments.commands.inputs import progress
from experiments.commands.output import say, table_text


@click.command("calibrate")
@click.option("-o", "--output", metavar="FILE", help="Write the coefficients there: --set coefficients=FILE reads them.")
@click.option("--quick", is_flag=True, help="Small tables and few runs: half a minute, coarse.")
@click.option("--rows", type=click.IntRange(1000, 10_000_000), metavar="N",
              help="Rows of the largest tables. [default: 400000; with --quick 20000]")  # fmt: skip
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
def command(output: str | None, quick: bool, rows: int | None, quiet: bool) -> None:
    """Measure the Arrow operators on this machine and fit the coefficients of the cost model `arrow`.

    Some 400 queries on synthetic tables; CPU time, by least squares without negative values. Prints the coefficients and how
    well they explain what was measured. A coefficient without points keeps its default.

    \b
    planscope calibrate --quick
    planscope calibrate -o machine.json
    planscope explain tpch/q05 -d tpch:0.1 --set coefficients=machine.json
    """
    from contextlib import nullcontext

    from executor.atomic import atomic_output
    from experiments.calibration import run

    rows = rows or (run.QUICK_ROWS if quick else run.ROWS)
    with nullcontext() if output is None else atomic_output(output) as file:  # better to fail before minutes of work than after
        done = run.calibrate(rows, quick, progress(quiet))
        if file is not None:
            file.write(run.file_text(done).encode())
    for head, lines in ((run.COEFFICIENT_HEAD, run.coefficient_rows(done)), (run.QUALITY_HEAD, run.quality_rows(done))):
        say(table_text(head, lines) + "\n")
    if output is not None:
        click.echo(f"wrote {output}", err=True)
