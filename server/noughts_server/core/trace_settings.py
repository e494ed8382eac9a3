"""The operator's settings of traces. See `monitoring.tracing`."""

from dataclasses import dataclass

SLOW_MOVE_SECONDS = 1.0
"""The default thinking time from which on a move is traced."""


@dataclass(frozen=True, slots=True)
class TraceSettings:
    """Where traces are sent, and which moves are traced."""

    collector: str
    """The address of a collector that understands OTLP over gRPC: `http://HOST:PORT`, or `https://` with TLS."""
    slow_seconds: float = SLOW_MOVE_SECONDS
