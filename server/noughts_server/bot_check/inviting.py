"""A server without tournaments, to which a bot can connect."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from noughts_referee.children.dialled_frames import Carry, DialInvitation, Invite


@asynccontextmanager
async def inviting() -> AsyncIterator[Invite]:
    """Run the server, and yield a function that invites a process of the bot with a ticket."""
    # Imported only if a server is needed.
    from noughts_server.runtime.sessions import Ticket
    from noughts_server.server import running_server
    from noughts_server.settings import ServerSettings
    from noughts_server.store.engine.sqlite import url_of

    with tempfile.TemporaryDirectory(prefix="noughts-") as folder:
        settings = ServerSettings("127.0.0.1:0", url_of(f"{folder}/check.sqlite"), reflection=False)
        async with running_server(settings) as server:

            def invite(carry: Carry) -> DialInvitation:
                ticket = Ticket(owner=0, bot="checked", carry=carry)
                return DialInvitation(server.address, server.sessions.issue_ticket(ticket))

            yield invite
