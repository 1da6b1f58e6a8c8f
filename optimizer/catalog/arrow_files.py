"""What an Arrow IPC file (also called Feather version 2) holds: columns from its schema, the rest by reading it once."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from optimizer.algebra.columns import DataType
from optimizer.catalog.facts import FileFacts, check_names, reading
from optimizer.catalog.fingerprint import file_fingerprint
from optimizer.catalog.measure import measure
from optimizer.catalog.table import TableColumn
from optimizer.catalog.types import canonical_type, is_nanoseconds
from optimizer.errors import CatalogError


def arrow_facts(path: Path) -> FileFacts:
    """Raises CatalogError when the file is damaged, an Arrow stream or not Arrow, or holds a value no canonical type has."""
    with (
        reading(path, "an Arrow file", "write it again as an Arrow IPC file (not a stream)"),
        pa.memory_map(str(path)) as memory,
        pa.ipc.open_file(memory) as file,
    ):
        check_names(path, file.schema)
        for stored in file.schema:
            if pa.types.is_run_end_encoded(stored.type):
                raise CatalogError(
                    f'column "{stored.name}" of {path} is run-end encoded, which is not read\n'
                    "decode it (pyarrow.compute.run_end_decode) and write the file again"
                )
        columns = [TableColumn(stored.name, _type(file, i), stored.nullable) for i, stored in enumerate(file.schema)]
        batches = (_whole(file.get_batch(i)) for i in range(file.num_record_batches))
        rows, stats = measure(path, batches, columns)
    return FileFacts(path, tuple(columns), rows, path.stat().st_size, stats, file_fingerprint(path))


def _type(file: Any, column: int) -> DataType:
    """The canonical type; nanoseconds stay where microseconds are not enough."""
    stored = file.schema.field(column).type
    if is_nanoseconds(stored):
        counts = (file.get_batch(i).column(column).cast(pa.int64()) for i in range(file.num_record_batches))
        if any(pc.any(pc.not_equal(pc.multiply(pc.divide(count, 1000), 1000), count)).as_py() for count in counts):
            return pa.timestamp("ns")
    return canonical_type(stored)


def _whole(batch: pa.RecordBatch) -> pa.RecordBatch:
    """`batch`, whose offsets and texts were all looked at: damaged ones would end the process that reads them."""
    batch.validate(full=True)
    return batch
