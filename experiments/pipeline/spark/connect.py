"""A session on a Spark Connect server: the driver is there, only plans and results travel."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.pipeline.spark.address import addresses, check_reachable
from experiments.pipeline.spark.errors import PipelineError, translated
from experiments.pipeline.spark.ship import ship

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NEEDED = {  # module -> package
    "google.rpc": "googleapis-common-protos",
    "grpc": "grpcio",
    "grpc_status": "grpcio-status",
    "pandas": "pandas",
    "zstandard": "zstandard",
}


@dataclass
class Remote:
    """A session on a server."""

    spark: SparkSession

    def is_alive(self) -> bool:
        return not getattr(self.spark, "is_stopped", False)

    def stop(self) -> None:
        with suppress(Exception):  # the server may be gone
            self.spark.stop()


def connect(url: str, folder: Path, progress: Callable[[str], None] | None, conf: Mapping[str, str] = {}) -> Remote:
    """A session on the server at sc://HOST[:PORT]; `folder` takes what is sent there. Raises PipelineError."""
    if not url.startswith("sc://") or not addresses(url):
        raise PipelineError(f'--remote takes sc://HOST[:PORT], not "{url}"; a cluster without Spark Connect is a --master')
    if missing := [package for module, package in _NEEDED.items() if not _is_there(module)]:
        raise PipelineError(f"--remote needs {', '.join(missing)}, not installed here\npip install 'planscope[connect]'")
    check_reachable(url)
    if progress is not None:
        progress(f"connecting to Spark ({url})")
    from pyspark.sql import SparkSession

    with translated(f"cannot use {url}"):
        builder = SparkSession.builder.remote(url).config("spark.sql.session.timeZone", "UTC")
        for name, value in conf.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        ship(session, folder)
    return Remote(session)


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:  # its parent package is missing
        return False
