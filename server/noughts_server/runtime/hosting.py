"""Submitted bots: what a server needs of the part that tries and plays them."""

from typing import Protocol

from noughts_server.store.people.submissions import Upload


class Hosting(Protocol):
    """Tries and plays the bots that are submitted to a server."""

    @property
    def accepts(self) -> tuple[str, ...]:
        """The kinds that are taken."""

    async def try_out(self, upload: Upload, variant: str, owner: int) -> Upload:
        """Tries an owner's upload in a variant (empty: one of its own), and returns it with all gaps filled in.

        Raises InvalidArgument for one that is no bot, LimitReached for an owner with too many trials.
        """

    async def prepare(self) -> None:
        """Let the submitted bots count as online before the server answers its first call."""

    async def look(self) -> None:
        """Check the bots after a change. On return a submitted bot counts as online, and a retired one does not."""

    async def run(self) -> None:
        """Plays those that are needed, until it is cancelled."""
