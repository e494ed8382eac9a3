"""Addresses at which a command listens, who can reach them, and with which certificate."""

import errno
import socket
import time
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from typer import Option

from noughts_proto.security import Identity, is_loopback
from noughts_server.cli.connection import read_address
from noughts_server.cli.errors import Problem, UsageProblem
from noughts_server.cli.extras import require_extra
from noughts_server.cli.times import Seconds, seconds_option
from noughts_server.core.trace_settings import SLOW_MOVE_SECONDS, TraceSettings
from noughts_server.web.listener import listening

_RELEASE_SECONDS = 6.0
"""Time to wait for a port that is in use: the website of a killed server can hold its port for this long."""

DEFAULT_TRACE_SLOW = Seconds(SLOW_MOVE_SECONDS)

ListenOption = Annotated[
    str,
    Option("--listen", metavar="HOST:PORT", help="Address for bots and commands; port 0: any free port"),
]
MetricsOption = Annotated[
    str | None,
    Option("--metrics", metavar="HOST:PORT", help="Address for Prometheus metrics and /health. Default: off"),
]
TraceOption = Annotated[
    str | None,
    Option("--trace", metavar="URL", help="OTLP collector (gRPC) for traces of slow moves. Default: off"),
]
TraceSlowOption = Annotated[
    float,
    seconds_option("--trace-slow", least=0.0, most=3_600.0, help="Thinking time from which on a move is traced"),
]
ProxyOption = Annotated[
    list[str] | None,
    Option("--proxy", metavar="ADDRESS", help="Trusted reverse proxy that sets x-real-ip (repeatable)"),
]
CertificateOption = Annotated[
    Path | None, Option("--tls-cert", metavar="FILE", help="Certificate of the server (PEM); turns TLS on")
]
KeyOption = Annotated[Path | None, Option("--tls-key", metavar="FILE", help="Private key of --tls-cert (PEM)")]
InsecureServerOption = Annotated[
    bool,
    Option(
        "--insecure",
        help="Allow unencrypted access from other machines: others can read tokens",
        rich_help_panel="Connection",
    ),
]


def read_trace(line: str, collector: str | None, slow_seconds: float) -> TraceSettings | None:
    """Return the settings of `--trace`; None if it is off. Raises UsageProblem, and Problem without the extra."""
    if collector is None:
        return None
    address = urlsplit(collector)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise UsageProblem(f"--trace {collector!r}: expected the URL of a collector, e.g. http://127.0.0.1:4317")
    require_extra(f"{line} --trace", "tracing")
    return TraceSettings(collector, slow_seconds)


def open_listener(address: str, option: str) -> socket.socket:
    """Return a socket that listens at the address of this option. Raises UsageProblem, Problem."""
    host, port = read_address(address, option)
    deadline = time.monotonic() + _RELEASE_SECONDS
    while True:
        try:
            return listening(host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                raise Problem(
                    f"{option} {address!r}: cannot listen there: {error.strerror or error}",
                    "Is another one running there? Choose another port.",
                ) from error
        time.sleep(_RELEASE_SECONDS / 20)


def read_proxies(addresses: list[str] | None) -> tuple[str, ...]:
    """Return the addresses of `--proxy`. Raises UsageProblem."""
    try:
        return tuple(str(ip_address(address)) for address in addresses or ())
    except ValueError as error:
        raise UsageProblem(f"--proxy: {error}; expected an address, e.g. 127.0.0.1") from error


def read_identity(certificate: Path | None, key: Path | None) -> Identity | None:
    """Return the certificate and the key of these options, if any. Raises UsageProblem if one is missing."""
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        present_option, missing_option = (
            ("--tls-key", "--tls-cert") if certificate is None else ("--tls-cert", "--tls-key")
        )
        raise UsageProblem(f"{missing_option}: got none, expected a PEM file, because {present_option} was given")
    return Identity(certificate, key)


def require_protected_server(address: str, *, protected: bool) -> None:
    """Raise UsageProblem if others could read the connections to `--listen`."""
    host, _ = read_address(address, "--listen")
    if not (protected or is_loopback(host)):
        raise UsageProblem(
            f"--listen {address!r}: got an address that other machines can reach, without encryption; "
            "expected a loopback address, e.g. 127.0.0.1:7450, or --tls-cert and --tls-key",
            "Give the server a certificate, forward its port through SSH, or accept the risk with --insecure.",
        )


def require_private_metrics(address: str | None, *, protected: bool) -> None:
    """Raise UsageProblem if others can read the metrics at `--metrics`."""
    if address is None:
        return
    host, _ = read_address(address, "--metrics")
    if not (protected or is_loopback(host)):
        raise UsageProblem(
            f"--metrics {address!r}: got an address that other machines can reach, where anyone could read "
            "the metrics; expected a loopback address, e.g. 127.0.0.1:7451",
            "Keep them on loopback, forward the port, or accept the risk on a private network with --insecure.",
        )
