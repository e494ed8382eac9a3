"""A plugin or program that `noughts bot ask` runs in a child process: foreign code never runs in this process."""

import asyncio
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from typing import TypeVar

from noughts_bots.reference.specs import BotSpec
from noughts_bots.sdk.bot import Bot, Move
from noughts_referee.children.running_child import ChildSettings
from noughts_referee.rules import Position, Variant
from noughts_server.bot_check.child_session import ChildSession, child_session
from noughts_server.cli import printing
from noughts_server.cli.options.game import own_variant
from noughts_server.launching.launcher import Locking, launching

_MOVE_SECONDS = 60.0

Entered = TypeVar("Entered")


class _AskedBot(Bot):
    """The bot of a child process. Positions arrive one by one, so the event loop is idle in between."""

    def __init__(self, session: ChildSession, runner: asyncio.Runner) -> None:
        self._session = session
        self._runner = runner

    def choose(self, position: Position) -> Move:
        return self._runner.run(self._session.answer(position))


@contextmanager
def asked_child(
    spec: BotSpec, chosen_variant: Variant | None, locking: Locking, start_seconds: float
) -> Iterator[tuple[Bot, Variant]]:
    """Yield the bot of a spec in a child, and the chosen variant or the bot's own; print its stderr at the end.

    Raises BotFault, VariantRefused.
    """
    times = ChildSettings(start=start_seconds)
    with (
        asyncio.Runner() as runner,
        _entered(runner, launching(locking, printing.note)) as launcher,
        _entered(runner, child_session(spec, launcher, times, move_seconds=_MOVE_SECONDS)) as session,
    ):
        try:
            runner.run(session.greet())
            variant = chosen_variant or own_variant(session.declared)
            session.require(variant)
            yield _AskedBot(session, runner), variant
        finally:
            runner.run(session.stop())
            for line in session.said.splitlines():
                printing.note(f"  | {line}")


@contextmanager
def _entered(runner: asyncio.Runner, context: AbstractAsyncContextManager[Entered]) -> Iterator[Entered]:
    """Enter an asynchronous context on the runner for the length of the block."""
    stack = AsyncExitStack()
    entered = runner.run(stack.enter_async_context(context))
    try:
        yield entered
    finally:
        runner.run(stack.aclose())
