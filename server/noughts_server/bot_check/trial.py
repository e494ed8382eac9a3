"""A trial of a bot by the steps of `noughts bot check`: its processes, and the games that the steps play with it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from noughts_bots.reference.specs import BotSpec
from noughts_bots.sdk.bot import Resign
from noughts_bots.sdk.errors import BotError
from noughts_referee.children.launcher import Launcher
from noughts_referee.rules import OWN_NAMES, VOID, Position, Variant, VariantError, covers, parse_variant, side_seed
from noughts_server.bot_check.child_session import ChildSession, child_session, wrong_move
from noughts_server.bot_check.conformance import ConformancePlan

FAMILY = "mnk:7,6,4"
_CLOCK_US = 1_000_000
"""The limit of a move if neither the plan nor the bot has one."""
_MOST_SEARCH_MOVES = 10_000
"""Moves of random games in which to search for a position."""


class StepFailed(Exception):
    """The bot failed a step; the text says what it did."""


class NotForThisBot(Exception):
    """The step does not apply to this bot; the text says why."""


class Trial:
    """A bot with its running process; a new process starts after each failed step."""

    def __init__(self, spec: BotSpec, launcher: Launcher, plan: ConformancePlan) -> None:
        self.clock_us = plan.clock_us
        self.longest_wait = plan.move_seconds
        """The longest wait for an answer, in seconds."""
        self._begin = partial(
            child_session, spec, launcher, plan.times, move_seconds=plan.move_seconds, invite=plan.invite
        )
        self._context: Any = None
        self._session: ChildSession | None = None
        self.chosen = plan.variant
        """The variant in which the bot is checked."""
        self.variants: tuple[str, ...] = ()
        self.name = ""

    async def session(self) -> ChildSession:
        """Return the session of the running process, started if needed."""
        if self._session is None:
            self._context = self._begin()
            session = await self._context.__aenter__()
            self._session = session
            await session.greet()
            self.name, self.variants = session.name, session.variants
            session.clock_us = self.clock_us or session.clock_us or _CLOCK_US
        return self._session

    @asynccontextmanager
    async def another(self) -> AsyncIterator[ChildSession]:
        """Start a second process in addition, with the same clock."""
        async with self._begin() as other:
            await other.greet()
            other.clock_us = (await self.session()).clock_us
            yield other

    async def restarted(self) -> ChildSession:
        """Replace the running process; return the session of the new one."""
        await self.leave()
        return await self.session()

    async def leave(self) -> str:
        """End the running process; return its output."""
        session = self._session
        context = self._context
        self._session = None
        self._context = None
        if session is None:
            return ""
        await context.__aexit__(None, None, None)
        return session.output

    @property
    def variant(self) -> Variant:
        """Return a small variant that the bot plays. Raises NotForThisBot if it declares none that is known."""
        if not self.variants or covers(self.variants, self.chosen.name):
            return self.chosen
        preferred = ("tictactoe", "connect4", FAMILY, *self.variants, "gomoku", *OWN_NAMES)
        for name in preferred:
            try:
                variant = parse_variant(name)
            except VariantError:
                continue
            if covers(self.variants, variant.name):
                return variant
        raise NotForThisBot("it declares no variant that this server knows")

    @asynccontextmanager
    async def skipped_on_failure(self, *, failure_counts: bool = False) -> AsyncIterator[None]:
        """Skip the step if the block fails and the bot declares no variants, unless `failure_counts`.

        Such a bot plays some variants well, but can be entered in others by mistake.
        """
        try:
            yield
        except (StepFailed, Resign, BotError) as failure:
            if self.variants or failure_counts:
                raise
            await self.leave()
            reason = f"it declares no variants, and would lose here: {failure}. Declare those that it plays"
            raise NotForThisBot(reason) from failure


async def moved(session: ChildSession, game: int, position: Position) -> None:
    """Make the bot's move. Raises StepFailed if it is illegal, and Resign."""
    cell = (await session.ask(game, position.moves)).cell
    if cell not in position.free:
        raise StepFailed(
            f"it {wrong_move(position, cell)}, in {position.variant.name} after the moves {position.moves}"
        )
    position.play(cell)


async def play(
    session: ChildSession, variant: Variant, side: int, *, plies: int = 10_000, opening: int = 0, seed: int = 1
) -> Position:
    """Play a game against random moves, and end it after at most `plies` plies.

    The game begins with `opening` random plies. Return the last position. Raises StepFailed and Resign.
    """
    position = Position(variant, seed=side_seed(seed, 1 - side))
    while len(position.moves) < opening and position.outcome() is None:
        position.play(position.rng().choice(position.free))
    game = 0
    outcome = position.outcome()
    while outcome is None and len(position.moves) < opening + plies:
        if position.side == side:
            if not game:
                game = session.begin(variant, side, side_seed(seed, side), position.moves)
                await session.wait_until_prepared()
            await moved(session, game, position)
        else:
            position.play(position.rng().choice(position.free))
        outcome = position.outcome()
    if game:
        await session.end(game, outcome or VOID, position.moves)
    return position


def nearly_full(variant: Variant) -> Position | None:
    """Return a random position with one free cell and no line; None if that takes too long."""
    for seed in range(_MOST_SEARCH_MOVES // variant.cells):
        position = Position(variant, seed=seed)
        while position.outcome() is None and len(position.free) > 1:
            position.play(position.rng().choice(position.free))
        if position.outcome() is None and len(position.free) == 1:
            return position
    return None
