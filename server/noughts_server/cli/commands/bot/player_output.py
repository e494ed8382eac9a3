"""Lines on stderr from a player of `noughts bot run`."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from noughts_server.cli import printing
from noughts_server.launching.relay import PlayerRefused, RelayEvent


class PlayerOutput:
    """Holds the player's output until the first event: if the bot is refused, the error contains its last lines."""

    def __init__(self, report_event: Callable[[RelayEvent], None]) -> None:
        """`report_event` prints an event for the user."""
        self._report_event = report_event
        self._held: list[bytes] | None = []

    def receive(self, output: bytes) -> None:
        """Pass on or hold output of the player."""
        if self._held is None:
            _pass_on(output)
        else:
            self._held.append(output)

    def report(self, event: RelayEvent) -> None:
        """Report an event, after the held output: now the output cannot be the reason of a refusal."""
        self._release()
        self._report_event(event)

    @contextmanager
    def flushed_at_end(self) -> Iterator[None]:
        """Pass on the held output at the end of the `with` block, without a refusal that the error repeats."""
        refusal = ""
        try:
            yield
        except PlayerRefused as error:
            refusal = str(error)
            raise
        finally:
            self._release(refusal)

    def _release(self, refusal: str = "") -> None:
        lines, self._held = b"".join(self._held or ()), None
        text = lines.decode(errors="replace")
        if refusal:
            text = text.rstrip().removesuffix(refusal)
        if text.strip():
            _pass_on(text.encode())


def _pass_on(output: bytes) -> None:
    sys.stderr.write(printing.printable(output.decode(errors="replace").expandtabs()))
    sys.stderr.flush()
