"""Lines on stderr from a player of `noughts bot run`."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from noughts_server.cli import printing
from noughts_server.launching.relay import PlayerRefused, RelayEvent


class PlayerOutput:
    """Holds the output before the first event: if the bot is refused, its last lines are part of the error."""

    def __init__(self, say: Callable[[RelayEvent], None]) -> None:
        """`say` reports an event to the user."""
        self._say = say
        self._kept: list[bytes] | None = []

    def heard(self, output: bytes) -> None:
        """Pass on or hold output of the player."""
        if self._kept is None:
            _pass_on(output)
        else:
            self._kept.append(output)

    def happened(self, event: RelayEvent) -> None:
        """Report an event, and pass on the held output: the player is not refused because of it."""
        self._release()
        self._say(event)

    @contextmanager
    def passed_on(self) -> Iterator[None]:
        """Pass on the held output at the end of the `with` block, after an error, too."""
        refusal = ""
        try:
            yield
        except PlayerRefused as error:
            refusal = str(error)
            raise
        finally:
            self._release(refusal)

    def _release(self, refusal: str = "") -> None:
        kept, self._kept = b"".join(self._kept or ()), None
        text = kept.decode(errors="replace")
        if refusal:
            text = text.rstrip().removesuffix(refusal)
        if text.strip():
            _pass_on(text.encode())


def _pass_on(output: bytes) -> None:
    sys.stderr.write(printing.printable(output.decode(errors="replace").expandtabs()))
    sys.stderr.flush()
