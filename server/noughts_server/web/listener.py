"""The listening socket of the website. The process that starts the website uses it, so it imports nothing else."""

import socket

_BACKLOG = 2048
"""Connections that can wait to be accepted."""


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens there; port 0 chooses a free one. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_BACKLOG)


def address_of(listener: socket.socket) -> str:
    """Return the address for browsers: `http://HOST:PORT`."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
