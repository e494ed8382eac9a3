"""The stderr of a bot that `noughts bot run` starts: passed on, but for what is told of as an error anyway."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from noughts_server.cli import output
from noughts_server.launching.relay import PlayerRefused, RelayEvent


class PlayerOutput:
    """Keeps what comes before the first event: if the bot is refused, its last words are the error's."""

    def __init__(self, say: Callable[[RelayEvent], None]) -> None:
        """`say` tells people of an event."""
        self._say = say
        self._kept: list[bytes] | None = []

    def heard(self, said: bytes) -> None:
        """The player has written this."""
        if self._kept is None:
            _pass_on(said)
        else:
            self._kept.append(said)

    def happened(self, event: RelayEvent) -> None:
        """Something has happened: the player is not refused, or not for what it has written so far."""
        self._release()
        self._say(event)

    @contextmanager
    def passed_on(self) -> Iterator[None]:
        """Whatever ends the `with` block, what was kept is passed on."""
        refusal = ""
        try:
            yield
        except PlayerRefused as error:
            refusal = str(error)
            raise
        finally:
            self._release(refusal)

    def _release(self, known: str = "") -> None:
        kept, self._kept = b"".join(self._kept or ()), None
        text = kept.decode(errors="replace")
        if known:
            text = text.rstrip().removesuffix(known)
        if text.strip():
            _pass_on(text.encode())


def _pass_on(said: bytes) -> None:
    sys.stderr.write(output.printable(said.decode(errors="replace").expandtabs()))
    sys.stderr.flush()
