"""The website as a child process of `noughts serve`: its arguments are SERVER FILENO.

The socket is the parent's, so that browsers which call while the child is restarted wait instead of being refused.
The first line of stdin is `SiteSettings` as JSON, because the token is one of them. The child ends when its stdin
does: with its parent, however that ended. On Linux a killed parent takes the child along at once, because the next
parent needs the socket.
"""

import asyncio
import json
import os
import signal
import socket
import sys

from noughts_referee.children import kernel

_NICE = 5
"""Games come first: visitors must not cost bots their time."""


async def _serve(server: str, listener: socket.socket, settings_line: str) -> None:
    from noughts_proto.security import Dialling
    from noughts_server.web.serving import running_site
    from noughts_server.web.site_settings import SiteSettings

    settings = SiteSettings(**json.loads(settings_line))
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    # Ctrl-C in a terminal reaches both processes: the parent says when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    loop.add_signal_handler(signal.SIGTERM, stopping.set)

    def parent_gone() -> None:
        if not os.read(sys.stdin.fileno(), 1):
            loop.remove_reader(sys.stdin.fileno())
            stopping.set()

    loop.add_reader(sys.stdin.fileno(), parent_gone)
    async with running_site(
        server,
        Dialling(),
        listener,
        https=settings.https,
        insecure=settings.insecure,
        token=settings.token,
        proxies=settings.proxies,
        public_url=settings.public_url,
    ):
        await stopping.wait()


def _first_line() -> str:
    """Return the first line of stdin. It is read unbuffered: the loop waits for what follows.

    Ends this process if the parent is gone already.
    """
    line = bytearray()
    while (byte := os.read(sys.stdin.fileno(), 1)) != b"\n":
        if not byte:
            sys.exit(0)
        line += byte
    return line.decode()


if __name__ == "__main__":
    # First of all: the other imports take a second, in which an orphan would hold the socket.
    if kernel.is_linux():
        kernel.control_process(kernel.SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    os.nice(_NICE)
    settings_line = _first_line()
    from noughts_bots.connection.event_loop import run_loop

    run_loop(_serve(sys.argv[1], socket.socket(fileno=int(sys.argv[2])), settings_line))
