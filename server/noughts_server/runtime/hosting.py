"""The interface of submitted bots: the server calls the part that tries and plays them."""

from typing import Protocol

from noughts_server.store.people.submissions import Upload


class Hosting(Protocol):
    """Tries and plays the bots that are submitted to a server."""

    @property
    def accepts(self) -> tuple[str, ...]:
        """The kinds of files that can be submitted."""

    async def try_out(self, upload: Upload, variant: str, owner: int) -> Upload:
        """Try an owner's upload in a variant (empty: one of its own), and return it with all fields set.

        Raise InvalidArgument if it is not a bot, LimitReached if the owner has too many trials.
        """

    async def prepare(self) -> None:
        """Let the submitted bots count as online before the server answers its first call."""

    async def refresh(self) -> None:
        """Check the bots after a change. On return a submitted bot counts as online, and a retired one does not."""

    async def run(self) -> None:
        """Play the bots that are needed, until cancelled."""
