"""planscope shrink: a bundle made smaller."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from experiments.commands.inputs import plugin_option, progress, say_warnings
from experiments.commands.output import write_text
from optimizer.errors import many


@click.command("shrink")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE.zip")
@click.option("--while", "test", required=True, metavar="CMD", help="Keeps what CMD, given a bundle's file, exits with 0 for.")
@click.option("-o", "--output", metavar="FILE.zip", help="Write there. Default: FILE.small.zip.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
@plugin_option
def command(file: Path, test: str, output: str | None, quiet: bool, plugins: tuple[str, ...]) -> None:
    """Leave out relations, conjuncts and outputs of a bundle's query as long as a command succeeds on what is left.

    The command is run without a shell; {} in it stands for the bundle's file, which is put behind it otherwise. One that
    succeeds for an empty file as well is warned of: it may not read the file.

    \b
    planscope shrink case.zip --while './still_wrong.sh {}'
    """
    from experiments.bundles.bundle import bundle_bytes, read_bundle, write_bundle
    from experiments.bundles.shrink import shrink
    from optimizer.errors import SettingsError

    try:
        words = shlex.split(test)
    except ValueError as error:
        raise click.UsageError(f"--while: {str(error).lower()}") from None
    if not words:
        raise click.UsageError("--while needs a command")
    bundle = read_bundle(file)
    with TemporaryDirectory(prefix="planscope-") as folder:
        path = Path(folder) / "case.zip"

        def succeeds(content: bytes) -> bool:
            path.write_bytes(content)
            given = [word.replace("{}", str(path)) for word in words]
            given = given if given != words else [*words, str(path)]
            try:
                return subprocess.run(given, capture_output=True, check=False).returncode == 0
            except OSError as error:
                raise SettingsError(f"cannot run {words[0]}: {error.strerror}") from None

        if succeeds(b""):
            say_warnings(["the command succeeds for an empty file as well: does it read the file?"], quiet)
        small = shrink(bundle, lambda candidate: succeeds(bundle_bytes(candidate)), plugins, progress(quiet))
    target = output or str(file.with_suffix(".small.zip"))
    write_bundle(small, target)
    if not quiet:
        click.echo(f"{target}: {many(len(small.sql), 'character')} of SQL, {len(bundle.sql)} before", err=True)
        write_text(small.sql, None)
