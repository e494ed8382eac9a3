"""The website that `noughts serve` starts: a child process, which is restarted when it ends."""

import socket
from contextlib import AbstractAsyncContextManager

import structlog

from noughts_proto.security import local_address
from noughts_server.runtime.supervised_child import supervised_child
from noughts_server.web.site_settings import SiteSettings

logger = structlog.get_logger("noughts.server")

_CHILD = "noughts_server.web.child"


def supervised_site(server: str, listener: socket.socket, settings: SiteSettings) -> AbstractAsyncContextManager[None]:
    """Serve the website of the server at this address on the socket inside the block.

    The socket stays open here: browsers that call while no child runs wait for the next one.
    """

    def on_end(code: int, wait: float) -> None:
        logger.warning("website_restarted", code=code, seconds=round(wait, 1))

    arguments = (_CHILD, local_address(server), str(listener.fileno()))
    return supervised_child(arguments, settings.line(), on_end, (listener.fileno(),))
