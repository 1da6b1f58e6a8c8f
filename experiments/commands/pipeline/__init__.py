"""planscope pipeline: run a pipeline from a TOML file, see how far it is, report on its sweep."""

from experiments.commands.groups import CommandGroup

PARTS = {
    "run": "Run the stages of a specification that are not done yet.",
    "status": "What is done, running, failed or missing in a pipeline's folder.",
    "report": "Tables and figures of a sweep.",
}

command = CommandGroup("pipeline", __name__, PARTS, help="Data, statistics, sweeps and reports on Spark, from one TOML file.")
