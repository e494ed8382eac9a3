"""The website as a child process of `noughts serve`: its arguments are SERVER FILENO.

The listening socket belongs to the parent. So browsers that call while the child restarts wait, and are not refused.
The first line of stdin is `SiteSettings` as JSON: they contain the token, which must not be an argument. The child ends
at the end of its stdin, that is at the end of its parent. On Linux the kernel kills the child together with its parent,
because the next parent needs the socket at once.
"""

import signal
import socket
import sys

from noughts_referee.children import kernel
from noughts_server.core.supervised import first_line, stop_requested


async def _serve(server: str, listener: socket.socket, settings_line: str) -> None:
    from noughts_bots.connection.process import tune_collector
    from noughts_proto.security import Dialling
    from noughts_server.web.serving import running_site
    from noughts_server.web.site_settings import SiteSettings

    # Otherwise the collector would often look through all loaded modules, and stop the process for 100 ms or more.
    tune_collector()
    settings = SiteSettings.from_line(settings_line)
    stopping = stop_requested()
    async with running_site(
        server,
        Dialling(),
        listener,
        https=settings.https,
        insecure=settings.insecure,
        token=settings.token,
        analyst=settings.analyst,
        proxies=settings.proxies,
        public_url=settings.public_url,
    ):
        await stopping.wait()


if __name__ == "__main__":
    # Before the other imports: they take a second, during which a child without a parent would hold the socket.
    if kernel.is_linux():
        kernel.control_process(kernel.SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    settings_line = first_line()
    from noughts_bots.connection.event_loop import run_loop

    run_loop(_serve(sys.argv[1], socket.socket(fileno=int(sys.argv[2])), settings_line))
