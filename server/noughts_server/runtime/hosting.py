"""Bots that are handed in: the door through which services pass them on to whoever tries and plays them.

Who does so is above the server (`local.submitted`), and may be nobody: then none are taken.
"""

from collections.abc import Awaitable, Callable

from noughts_server.errors import WrongState
from noughts_server.store.people.submissions import Stored, Submission, Upload


class Hosting:
    """One for a server."""

    def __init__(self) -> None:
        self.accepts: tuple[str, ...] = ()
        """The kinds that are taken."""
        self.try_out: Callable[[Upload, str, int], Awaitable[Upload]] | None = None
        """Tries an owner's upload in a variant (empty: one of its own), and returns it with all gaps filled in.

        Raises InvalidArgument for one that is no bot, LimitReached for an owner with too many trials.
        """
        self.on_stored: Callable[[Submission], None] = lambda submission: None

    def check_kind(self, kind: str) -> None:
        """Raises WrongState for a kind that is not taken here."""
        if kind not in self.accepts:
            got = f"taking {' and '.join(self.accepts)}" if self.accepts else "taking no bots"
            hint = "The operator decides it: noughts serve --accept wasm,py"
            raise WrongState("the server", got=got, expected=f"one that takes bots of kind {kind!r}", hint=hint)

    async def tried(self, upload: Upload, variant: str, owner_id: int) -> Upload:
        """See `try_out`. Raises WrongState where nobody does."""
        self.check_kind(upload.kind)
        assert self.try_out is not None
        return await self.try_out(upload, variant, owner_id)

    def stored(self, stored: Stored) -> None:
        """A bot has been handed in, and is stored."""
        if stored.is_new:
            self.on_stored(stored.submission)
