"""What `noughts serve` does once its options are read."""

import shlex
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from noughts_proto.security import host_of, is_loopback
from noughts_proto.transport import DEFAULT_SERVER
from noughts_server.cli import output, printing
from noughts_server.cli.operator.web_minder import minding_site
from noughts_server.cli.signals import Stop
from noughts_server.core.version import software_version
from noughts_server.server import Server, running_server
from noughts_server.settings import ServerSettings
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.people.scopes import PLAY, SITE
from noughts_server.store.people.tokens import SITE_OWNER, create_token, list_tokens, revoke_token
from noughts_server.web.listener import address_of

if TYPE_CHECKING:
    from noughts_server.hosting.submitted import Acceptance

_LABEL = "people who play in their browsers"


@asynccontextmanager
async def site_token(store: Store) -> AsyncIterator[str]:
    """A token that permits to play, for as long as the block lasts; one that a killed server has left is revoked."""

    def make(connection: Connection) -> str:
        now = store.now_ms()
        _revoke(connection, now)
        made = create_token(connection, owner=SITE_OWNER, label=_LABEL, scopes=(PLAY, SITE), now_ms=now)
        return made.secret

    yield await store.write(make)
    await store.write(lambda connection: _revoke(connection, store.now_ms()))


def _revoke(connection: Connection, now_ms: int) -> None:
    for token in list_tokens(connection):
        if token.owner == SITE_OWNER and token.label == _LABEL and token.revoked_at is None:
            revoke_token(connection, token.id, now_ms=now_ms)


async def serve_until_stopped(
    settings: ServerSettings,
    listener: socket.socket | None,
    playing: Callable[[Server, str | None], AbstractAsyncContextManager[None]],
    acceptance: "Acceptance | None" = None,
    *,
    site: Mapping[str, Any],
    drains: bool = True,
) -> bool:
    """Serves until a signal; False when running games were abandoned. A site answers on the socket, if there is one.

    `playing` announces the server with its site's address, and does what else lasts until the end. `site` are options
    of `running_site`.
    """
    stop = Stop()
    async with AsyncExitStack() as stack:
        host = None
        if acceptance is not None:
            from noughts_server.hosting.submitted import submitted_bots_of_server

            host = await stack.enter_async_context(submitted_bots_of_server(acceptance))
        server = await stack.enter_async_context(running_server(settings, host))
        with stop.on_signals():
            _warn(server.address, listener, settings, site)
            if listener is not None:
                token = await stack.enter_async_context(site_token(server.store))
                options = {**site, "token": token, "proxies": settings.proxies}
                await stack.enter_async_context(minding_site(server.address, listener, options))
            await stack.enter_async_context(playing(server, None if listener is None else address_of(listener)))
            done = True
            if drains:
                done = await stop.drained(server.drain)
            else:
                await stop.asked.wait()
            server.store.lose_patience(settings.store_patience)
            return done


@asynccontextmanager
async def announced(settings: ServerSettings, server: Server, site: str | None) -> AsyncIterator[None]:
    address, database = server.address, settings.database
    # An address with a password in it must not stay on the screen.
    place = "" if database is None else f" --db {'URL' if '@' in database else shlex.quote(database)}"
    # Clients cannot call 0.0.0.0 or [::]: no certificate has that name.
    called = address if host_of(address).strip("[]0.:") else "HOST" + address[address.rindex(":") :]
    to = "" if address == DEFAULT_SERVER else f" --server {called}"
    trust = ""
    if settings.identity is not None:
        to, trust = (
            f"{to} --tls-ca CA.pem",
            (
                "\nCA.pem is the certificate of the authority that signed the server's. If clients trust it anyway, "
                "write --tls instead."
            ),
        )
    output.announce(
        {"grpc": address, "web": site, "metrics": server.metrics_address},
        f"Noughts {software_version()} serves at {address}",
        (f"Look at it:         {site}\n" if site else "")
        + (
            f"Make a token:       noughts token create --owner YOU{place}\n"
            f"Connect a bot:      NOUGHTS_TOKEN=... noughts bot run minimax --name mybot{to}\n"
            f"Run a tournament:   noughts tournament create spring{to}   (then join, start, show)\n"
            "Stop:               Ctrl-C"
        )
        + trust,
    )
    yield


def _warn(address: str, listener: socket.socket | None, settings: ServerSettings, site: Mapping[str, Any]) -> None:
    """Say which ports face the network, and what is missing before them."""
    if not (settings.proxies or is_loopback(host_of(address))):
        printing.note(
            f"--listen {address} faces the network without a reverse proxy: floods of HTTP/2 frames can cost "
            "games their time. Put nginx in front of it and give its address with --proxy "
            "(docs/how-to/operations.md: Behind a reverse proxy)."
        )
    encrypted = site.get("https") or site.get("public_url", "").startswith("https:")
    if listener is not None and not (encrypted or is_loopback(listener.getsockname()[0])):
        what = "tokens of people who sign in can be read" if site.get("insecure") else "nobody can sign in there"
        printing.note(
            f"--web faces the network without encryption: {what}. Put a reverse proxy with HTTPS in front of it, "
            "and give its address with --public-url https://HOST."
        )
