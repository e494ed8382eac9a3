"""Where the site listens: for whoever starts it as well, so nothing else is loaded for it."""

import socket

_BACKLOG = 2048


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 is any free one. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_BACKLOG)


def address_of(listener: socket.socket) -> str:
    """Where browsers find it: `http://HOST:PORT`."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
