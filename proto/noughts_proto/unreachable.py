"""Reasons why a server cannot be reached, in plain words instead of gRPC's technical texts."""

import re

_REASONS = {
    "Connection refused": "nothing listens there",
    "Domain name not found": "no machine of that name is known",
    "errors resolving": "no machine of that name is known",
    "DNS resolution failed": "no machine of that name is known",
    "Failed parsing HTTP/2": "what answers there is no Noughts server",
    "http1.x server": "what answers there is no Noughts server",
    "No route to host": "there is no way to that machine",
    "Network is unreachable": "there is no way to that machine",
    "timed out": "nobody answers there",
    "imeout occurred": "nobody answers there",
    "FD Shutdown": "nobody answers there",
    "Socket closed": "the connection was closed",
    "Connection reset": "the connection was closed",
    "Broken pipe": "the connection was closed",
    "GOAWAY": "the server is stopping",
}
"""Explanations by a part of gRPC's text; the first part that it contains counts."""


def why_unreachable(details: str) -> str:
    """Return the meaning of gRPC's text about a failed connection; the last part of the text if that is unknown."""
    for fragment, reason in _REASONS.items():
        if fragment in details:
            return reason
    return re.split(r"last error: (?:[A-Z_]+: )?", details)[-1].strip() or "no reason was given"
