"""The site as a child process of `noughts serve`: its arguments are SERVER FILENO [OPTION...] PROXY...

The socket is the parent's, so that browsers which call while the child is started again wait instead of being refused.
Its stdin says the token with which people play there, a line. The child ends when its stdin does: with its parent,
however that ended.
"""

import asyncio
import os
import signal
import socket
import sys

from noughts_bots.event_loop import run_loop
from noughts_proto.security import Dialling
from noughts_server.web.serving import running_site

_PUBLIC_URL = "--public-url="


async def _serve(server: str, listener: socket.socket, token: str, more: list[str]) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    # Ctrl-C in a terminal reaches both: the parent says when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    loop.add_signal_handler(signal.SIGTERM, stopping.set)

    def parent_gone() -> None:
        if not os.read(sys.stdin.fileno(), 1):
            loop.remove_reader(sys.stdin.fileno())
            stopping.set()

    loop.add_reader(sys.stdin.fileno(), parent_gone)
    https, insecure = "--https" in more, "--insecure" in more
    public_url = "".join(each.removeprefix(_PUBLIC_URL) for each in more if each.startswith(_PUBLIC_URL))
    proxies = [each for each in more if not each.startswith("--")]
    site = running_site(
        server,
        Dialling(),
        listener,
        https=https,
        insecure=insecure,
        token=token,
        proxies=proxies,
        public_url=public_url,
    )
    async with site:
        await stopping.wait()


def _first_line() -> str:
    """Unbuffered: what follows is waited for by the loop."""
    line = bytearray()
    while (byte := os.read(sys.stdin.fileno(), 1)) not in (b"", b"\n"):
        line += byte
    return line.decode()


if __name__ == "__main__":
    run_loop(_serve(sys.argv[1], socket.socket(fileno=int(sys.argv[2])), _first_line(), sys.argv[3:]))
