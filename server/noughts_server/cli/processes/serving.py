"""A server that runs until a signal, with its website: for `noughts serve`, `live` and `course serve`."""

import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from noughts_proto.security import host_of, is_loopback
from noughts_server.cli import printing
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.processes.signals import Stop
from noughts_server.server import Server, running_server
from noughts_server.settings import ServerSettings
from noughts_server.store.people.scopes import PLAY, SITE
from noughts_server.store.people.tokens import SITE_OWNER, temporary_token
from noughts_server.web.listener import address_of
from noughts_server.web.site_settings import SiteSettings
from noughts_server.web.supervisor import supervised_site

if TYPE_CHECKING:
    from noughts_server.hosting.submitted import Acceptance

_LABEL = "people who play in their browsers"
"""The label of the website's own token."""


async def serve_until_stopped(
    output: OutputOptions,
    settings: ServerSettings,
    listener: socket.socket | None,
    playing: Callable[[Server, str | None], AbstractAsyncContextManager[None]],
    acceptance: "Acceptance | None" = None,
    *,
    site: SiteSettings,
    drains: bool = True,
) -> bool:
    """Serve until a signal. Return False if running games were abandoned. A `listener` is the socket of the website.

    `playing` is a context that lasts until the end. It gets the server and the address of the website, and announces
    them. `site` has no token and no proxies: the website gets those of the server.
    """
    stop = Stop()
    async with AsyncExitStack() as stack:
        host = None
        if acceptance is not None:
            from noughts_server.hosting.submitted import submitted_bots_of_server

            host = await stack.enter_async_context(submitted_bots_of_server(acceptance))
        server = await stack.enter_async_context(running_server(settings, host))
        with stop.on_signals():
            _warn_of_open_ports(server.address, listener, settings, site)
            if listener is not None:
                token = await stack.enter_async_context(
                    temporary_token(server.store, owner=SITE_OWNER, label=_LABEL, scopes=(PLAY, SITE))
                )
                site = replace(site, token=token, proxies=settings.proxies)
                await stack.enter_async_context(supervised_site(server.address, listener, site))
            await stack.enter_async_context(playing(server, None if listener is None else address_of(listener)))
            is_drained = True
            if drains:
                is_drained = await stop.wait_and_drain(output, server.drain)
            else:
                await stop.requested.wait()
            server.store.limit_retries(settings.store_wait_seconds)
            return is_drained


def _warn_of_open_ports(
    address: str, listener: socket.socket | None, settings: ServerSettings, site: SiteSettings
) -> None:
    """Print notes about ports that other machines can reach without a reverse proxy or without encryption."""
    if not (settings.proxies or is_loopback(host_of(address))):
        printing.note(
            f"--listen {address} faces the network without a reverse proxy: floods of HTTP/2 frames can cost "
            "games their time. Put nginx in front of it and give its address with --proxy "
            "(docs/how-to/operations.md: Behind a reverse proxy)."
        )
    encrypted = site.https or site.public_url.startswith("https:")
    if listener is not None and not (encrypted or is_loopback(listener.getsockname()[0])):
        danger = "tokens of people who sign in can be read" if site.insecure else "nobody can sign in there"
        printing.note(
            f"--web faces the network without encryption: {danger}. Put a reverse proxy with HTTPS in front of it, "
            "and give its address with --public-url https://HOST."
        )
