"""Where a cluster listens, whether it can be reached, and under which address it can reach this machine."""

from __future__ import annotations

import os
import re
import socket
from contextlib import suppress

from experiments.pipeline.spark.errors import PipelineError

_PORTS = {"spark": 7077, "sc": 15002}  # where none is given
_SECONDS = 10


def check_reachable(url: str) -> None:
    """Raises PipelineError when nobody listens at `url`: Spark itself would try for minutes. Other masters pass."""
    reasons = []
    for host, port in addresses(url):
        try:
            socket.create_connection((host, port), _SECONDS).close()
            return
        except OSError as error:
            reasons.append(f"{host}:{port}: {error.strerror or error}")
    if reasons:
        raise PipelineError("\n".join([f"cannot reach {url}", *reasons]))


def addresses(url: str) -> list[tuple[str, int]]:
    """Hosts and ports of spark://a:1,b:2 or sc://a:1/;key=value; none for masters that are no such address.

    Raises PipelineError when the address makes no sense.
    """
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in _PORTS:
        return []
    found = []
    for part in re.split(r"[/;]", rest, maxsplit=1)[0].split(","):
        match = re.fullmatch(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^:\[\]\s]+)(?::(?P<port>\d{1,5}))?", part)
        if match is None or int(match["port"] or 0) > 65535:
            raise PipelineError(
                f'"{url}" is no address: expected {scheme}://HOST:PORT, as in {scheme}://localhost:{_PORTS[scheme]}'
            )
        found.append((match["host"].strip("[]"), int(match["port"] or _PORTS[scheme])))
    return found


def address_towards(master: str) -> str | None:
    """The address of this machine on the way to the master, where its workers can most likely reach it too.

    None leaves the choice to Spark, as do SPARK_LOCAL_IP and masters that are no address. Nothing is sent: a datagram socket
    only looks up the route.
    """
    if "SPARK_LOCAL_IP" in os.environ:
        return None
    for host, port in addresses(master):
        with suppress(OSError):
            family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
            with socket.socket(family, kind) as probe:
                probe.connect(address)
                return str(probe.getsockname()[0])
    return None
