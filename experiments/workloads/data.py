"""Datasets by folder or by name: the DATA argument of every command."""

from __future__ import annotations

import re
from pathlib import Path

from experiments.workloads.cache import Progress
from experiments.workloads.tpch_data import parse_scale, tpch_folder
from optimizer.catalog.table import Catalog
from optimizer.dataset import open_dataset
from optimizer.errors import CatalogError

BUILT_IN = {"tpch:SF": "TPC-H at scale factor SF (tpch:0.1 has 0.87 million rows), made on first use, keys declared"}


def open_data(spec: str, progress: Progress | None = None) -> Catalog:
    """The catalog of dataset `spec`: a folder, or a built-in name such as `tpch:0.1`.

    `progress` gets a line of text now and then while data is being made. Raises CatalogError.
    """
    name, _, argument = spec.partition(":")
    if name == "tpch":
        return open_dataset(dataset_folder(spec, progress), name=f"tpch:{parse_scale(argument).normalize():f}")
    return open_dataset(dataset_folder(spec, progress))


def dataset_folder(spec: str, progress: Progress | None = None) -> Path:
    """The folder with the files of dataset `spec`, made if need be; a folder is taken as it is. Raises CatalogError."""
    name, _, argument = spec.partition(":")
    if name == "tpch":
        if not argument:
            raise CatalogError("tpch needs a scale factor: try tpch:0.1")
        return tpch_folder(parse_scale(argument), progress or _silent)
    folder = Path(spec).expanduser()
    if not spec or (re.fullmatch(r"\w{2,}:[^/\\]*", spec) and not folder.exists()):
        raise CatalogError(f'there is no dataset "{spec}"; built in: {", ".join(BUILT_IN)}; or name a folder with tables')
    return folder


def _silent(line: str) -> None:
    """Progress for callers that do not want any."""
