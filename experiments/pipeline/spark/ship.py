"""The product's packages as one zip file, for Spark workers that do not have them.

A worker imports from the zip and then unpacks it beside itself (worker.py), since workloads read files of their own packages.
"""

from __future__ import annotations

import hashlib
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.pipeline.spark.errors import translated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parent.parent.parent.parent
PACKAGES = ("planscope", "optimizer", "executor", "memo_viz", "experiments")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # no times inside: equal contents are equal bytes


def ship(session: SparkSession, folder: Path) -> None:
    """Gives the workers the product's code, by way of a file in `folder`; this process goes on with its own."""
    path = list(sys.path)
    with translated("cannot ship planscope to the Spark workers"):
        session.addArtifacts(str(product_zip(folder)), pyfile=True)
    sys.path[:] = path


def product_zip(folder: Path) -> Path:
    """Writes `planscope-DIGEST.zip` of all files of the packages into `folder`, and says where."""
    digest = hashlib.sha256()
    temporary = folder / ".planscope.zip"
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in product_files():
            data, name = path.read_bytes(), path.relative_to(ROOT).as_posix()
            digest.update(f"{name} {len(data)} ".encode() + data)
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
    target = folder / f"planscope-{digest.hexdigest()[:16]}.zip"
    temporary.replace(target)
    return target


def product_files() -> list[Path]:
    """Every file of the packages but compiled and hidden ones, sorted."""
    found = (path for package in PACKAGES for path in (ROOT / package).rglob("*"))
    return sorted(path for path in found if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith("."))
