"""Runs the scripts of a folder: each query that does not pass as it is found, the counts at the end."""

import argparse
import sys
from collections import Counter
from pathlib import Path

from optimizer.settings import Settings
from tests.differential.scripts.judge import Outcome
from tests.differential.scripts.suite import run_folder, table


def main() -> int:
    """0 when nothing is wrong, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.scripts", description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder of .test and .iq scripts, or one script")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the optimizer")
    parser.add_argument("--table", type=Path, help="write the table of what does not pass to this file")
    parser.add_argument("--sql", action="store_true", help="show the queries too")
    arguments = parser.parse_args()
    settings = Settings.from_pairs(arguments.set).as_dict()
    results = []
    for result in run_folder(arguments.folder, settings):
        results.append(result)
        outcome, reason = result.verdict
        if outcome not in (Outcome.EQUAL, Outcome.REFUSED):
            print(f"{outcome.value:8} {result.script}:{result.line}  {reason}", flush=True)
            if arguments.sql:
                print("         " + result.sql.strip().replace("\n", "\n         "), flush=True)
    counts = Counter(result.verdict.outcome for result in results)
    missing = Counter(result.verdict.reason for result in results if result.verdict.outcome is Outcome.UNSUPPORTED)
    for feature, count in missing.most_common():
        print(f"{count:6}  unsupported: {feature}")
    print(", ".join(f"{outcome.value} {counts[outcome]}" for outcome in Outcome))
    if arguments.table is not None:
        arguments.table.write_text(table(results), encoding="utf-8")
    return 1 if counts[Outcome.WRONG] or counts[Outcome.CRASH] else 0


if __name__ == "__main__":
    sys.exit(main())
