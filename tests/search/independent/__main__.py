"""Many random queries against the brute force: `python -m tests.search.independent --queries 100000 --seed 1`.

Prints every plan that is not what the brute force says, and the counts, also when it is stopped by Ctrl-C. Exit code 1 if there
was such a plan.
"""

import argparse
import sys
from collections.abc import Sequence

from tests.search.independent.check import Tally


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.search.independent", description=__doc__)
    parser.add_argument("--queries", type=int, default=1000, help="how many (1000)")
    parser.add_argument("--seed", type=int, default=0, help="number of the first query (0)")
    parser.add_argument("--relations", type=int, default=6, help="relations of a query at most (6)")
    parser.add_argument("--runs", type=int, default=2, help="settings for each query and each set of operators (2)")
    options = parser.parse_args(arguments)
    tally = Tally()
    try:
        for number in range(options.seed, options.seed + options.queries):
            for run in tally.add(number, options.runs, options.relations):
                print(run, flush=True)
            if tally.queries % 1000 == 0:
                print(tally, file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print(f"stopped at query {number}", file=sys.stderr)
    print(tally)
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())
