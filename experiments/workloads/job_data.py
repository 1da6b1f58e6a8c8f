"""The dataset `job`: IMDB as the Join Order Benchmark uses it, described by published statistics (job/SOURCE.md)."""

import json
from pathlib import Path

from experiments.workloads.described import described_catalog
from optimizer.catalog.table import Catalog
from optimizer.dataset import read_declarations

NAME = "job"
_HERE = Path(__file__).parent / NAME


def job_catalog() -> Catalog:
    """Tables, keys, foreign keys and statistics; no rows."""
    declarations = read_declarations([_HERE / "schema.sql", _HERE / "foreign_keys.sql"])
    figures = json.loads((_HERE / "statistics.json").read_text(encoding="utf-8"))
    return described_catalog(NAME, declarations, figures["tables"])
