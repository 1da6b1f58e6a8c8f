"""Python's collector of reference cycles, paused while a query is planned.

Nearly all that planning makes stays until its end, so each pass of the collector would walk over it and find nothing. What a
query leaves has no cycles, so that reference counts free all of it once it is dropped; hence no pass looks for them when the
collector is switched on again, either: all objects there are become old ones, as they would by passes that find nothing. These
cost a seventh of planning TPC-DS. For the garbage of others there is a full pass from time to time.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

EVERY = 1000  # plannings: then the collector looks through all there is
_plannings = count(1)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Switch the collector off, and on again in the end if it was on."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            if next(_plannings) % EVERY:
                gc.freeze()
                gc.unfreeze()  # both together move all objects to the oldest generation, at no cost
            else:
                gc.collect()
            gc.enable()
