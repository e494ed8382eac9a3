"""The bot that `noughts bot ask` and `bot check --positions` ask. Plugins and programs run in a child process."""

import asyncio
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from typing import TypeVar

from noughts_bots.reference.specs import BotSpec, make_bot
from noughts_bots.sdk.bot import Bot, Move
from noughts_referee.children.running_child import ChildSettings
from noughts_referee.rules import Position, Variant
from noughts_server.bot_check.child_session import ChildSession, child_session
from noughts_server.cli import printing
from noughts_server.cli.options.game import own_variant
from noughts_server.cli.options.startable import TRY_A_MATCH, check_startable, require_frames_on_pipes
from noughts_server.launching.launcher import SandboxMode, launching

_MOVE_SECONDS = 60.0
"""The longest wait for a move of the child."""

Value = TypeVar("Value")


class _ChildBot(Bot):
    """The bot of a child process. Its session runs only during `choose`, because positions arrive one by one."""

    def __init__(self, session: ChildSession, runner: asyncio.Runner) -> None:
        self._session = session
        self._runner = runner

    def choose(self, position: Position) -> Move:
        return self._runner.run(self._session.answer(position))


@contextmanager
def bot_to_ask(
    spec: BotSpec, chosen_variant: Variant | None, sandbox_mode: SandboxMode, start_seconds: float
) -> Iterator[tuple[Bot, Variant]]:
    """Yield a spec's bot, and the chosen variant or, without one, the bot's own. Raises BotFault, VariantRefused."""
    require_frames_on_pipes(spec, TRY_A_MATCH)
    if check_startable(spec, sandbox_mode):
        with _child_bot(spec, chosen_variant, sandbox_mode, start_seconds) as bot_and_variant:
            yield bot_and_variant
    else:
        variant = chosen_variant or own_variant(make_bot(spec).variants)
        yield make_bot(spec, variant), variant


@contextmanager
def _child_bot(
    spec: BotSpec, chosen_variant: Variant | None, sandbox_mode: SandboxMode, start_seconds: float
) -> Iterator[tuple[Bot, Variant]]:
    """Yield a spec's bot in a child process, and the chosen variant or, without one, the bot's own.

    At the end the child's stderr is printed. Raises BotFault, VariantRefused.
    """
    times = ChildSettings(start=start_seconds)
    with (
        asyncio.Runner() as runner,
        _entering(runner, launching(sandbox_mode, printing.note)) as launcher,
        _entering(runner, child_session(spec, launcher, times, move_seconds=_MOVE_SECONDS)) as session,
    ):
        try:
            runner.run(session.greet())
            variant = chosen_variant or own_variant(session.declared)
            session.require(variant)
            yield _ChildBot(session, runner), variant
        finally:
            runner.run(session.stop())
            for line in session.output.splitlines():
                printing.note(f"  | {line}")


@contextmanager
def _entering(runner: asyncio.Runner, context: AbstractAsyncContextManager[Value]) -> Iterator[Value]:
    """Enter an asynchronous context on the runner, and leave it at the end of the `with` block."""
    stack = AsyncExitStack()
    value = runner.run(stack.enter_async_context(context))
    try:
        yield value
    finally:
        runner.run(stack.aclose())
