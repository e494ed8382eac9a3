"""The steps of `noughts bot check`: each has a name, and advice for a failure."""

import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from noughts_bots.bot import Resign
from noughts_bots.errors import BotError
from noughts_bots.specs import BotSpec
from noughts_referee.children.launcher import Launcher
from noughts_referee.rules import (
    OWN_NAMES,
    VOID,
    Outcome,
    Position,
    Termination,
    Variant,
    VariantError,
    covers,
    is_family,
    lost,
    parse_variant,
    side_seed,
)
from noughts_server.bot_check.child_session import ChildSession, child_session, wrong_move
from noughts_server.bot_check.conformance import ConformancePlan

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9\-_.:=,#+]{0,62}")
_PLIES_OF_A_VARIANT = 6
_MANY_GAMES = 64
_SHARE_OF_PATIENCE = 0.3
_HALTED_SECONDS = 0.3
_QUIET_SECONDS = 0.25
_SHORT_CLOCK_US = 300_000
_CLOCK_US = 1_000_000
_FAMILY = "mnk:7,6,4"
_RESIGNED = lost(1, Termination.RESIGNED)
_VARIANTS = ("tictactoe", "connect4", _FAMILY, "tictactoe3d", "qubic", "gomoku", "gomoku:exact", "renju", "caro")
_OTHER_SIZES = ("mnk:4,4,3", "tictactoe")

_MOVES_TO_FIND_IT = 10_000
_RULES = "docs/how-to/writing-a-bot.md describes the content of a question"
_LEGAL = "play one of the free cells of the position in the question; position.free lists them"


class StepFailed(Exception):
    """The bot failed a step; the text says what it did."""


class NotForThisBot(Exception):
    """The step does not apply to this bot; the text says why."""


@dataclass(frozen=True, slots=True)
class StepResult:
    name: str
    outcome: str
    """`passed`, `failed` or `skipped`."""
    seconds: float
    detail: str = ""
    """What it did, or why the step was skipped."""
    advice: str = ""
    """What to do, after a failure."""
    said: str = field(default="", repr=False)
    """The bot's output, if it has ended."""

    def document(self) -> dict[str, Any]:
        shown = {"name": self.name, "outcome": self.outcome, "seconds": round(self.seconds, 4)}
        return {**shown, "detail": self.detail, "advice": self.advice}


@dataclass(frozen=True, slots=True)
class _Step:
    name: str
    advice: str
    run: "Callable[[_Trial], Awaitable[None]]"


class _Trial:
    """A bot with its running process; a new process starts after each failed step."""

    def __init__(self, spec: BotSpec, launcher: Launcher, plan: ConformancePlan) -> None:
        chosen = plan.variant
        self.clock_us = plan.clock_us
        self.patience = plan.move_seconds
        self._begin = partial(
            child_session, spec, launcher, plan.times, move_seconds=plan.move_seconds, invite=plan.invite
        )
        self._context: Any = None
        self._session: ChildSession | None = None
        self.chosen = chosen
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

    def another(self) -> Any:
        """Return a second process in addition."""
        return self._begin()

    async def anew(self) -> ChildSession:
        """Replace the running process; return the session of the new one."""
        await self.leave()
        return await self.session()

    async def leave(self) -> str:
        """End the running process; return its output."""
        session, context = self._session, self._context
        self._session = self._context = None
        if session is None:
            return ""
        await context.__aexit__(None, None, None)
        return session.said

    def variant(self) -> Variant:
        """Return a small variant that it plays."""
        if not self.variants or covers(self.variants, self.chosen.name):
            return self.chosen
        wanted = ("tictactoe", "connect4", _FAMILY, *self.variants, "gomoku", *OWN_NAMES)
        for name in wanted:
            try:
                variant = parse_variant(name)
            except VariantError:
                continue
            if covers(self.variants, variant.name):
                return variant
        raise NotForThisBot("it declares no variant that this server knows")


async def run_steps(spec: BotSpec, launcher: Launcher, plan: ConformancePlan) -> list[StepResult]:
    """Run all steps in order, in the plan's variant if possible."""
    trial = _Trial(spec, launcher, plan)
    results: list[StepResult] = []
    try:
        for number, step in enumerate(_STEPS):
            plan.tell(number, len(_STEPS), f"step {number + 1} of {len(_STEPS)}: {step.name}")
            began = time.perf_counter()
            outcome, detail, said = "passed", "", ""
            try:
                await step.run(trial)
            except NotForThisBot as reason:
                outcome, detail = "skipped", str(reason)
            except StepFailed as failure:
                outcome, detail = "failed", str(failure)
            except Resign as resignation:
                outcome, detail = "failed", f"it resigned{f' with {resignation}' if str(resignation) else ''}"
            except BotError as error:
                outcome, detail = "failed", f"got {error.got}, expected {error.expected}"
            if outcome == "failed":
                said = await trial.leave()
            advice = step.advice if outcome == "failed" else ""
            results.append(StepResult(step.name, outcome, time.perf_counter() - began, detail, advice, said))
            if outcome == "failed" and step is _STEPS[0]:
                break  # no other step is possible
    finally:
        await trial.leave()
    return results


# Parts of steps.


async def _moved(session: ChildSession, game: int, position: Position, side: int) -> None:
    """Make the bot's move. Raises StepFailed if it is illegal, and Resign."""
    cell = (await session.ask(game, position.moves)).cell
    if cell not in position.free:
        raise StepFailed(
            f"it {wrong_move(position, cell)}, in {position.variant.name} after the moves {position.moves}"
        )
    position.play(cell)


async def _play(
    session: ChildSession, variant: Variant, side: int, *, plies: int = 10_000, opening: int = 0, seed: int = 1
) -> Position:
    """Play a game against random moves, or its first plies after a random opening; end it properly."""
    position = Position(variant, seed=side_seed(seed, 1 - side))
    draws = 0
    while len(position.moves) < opening and position.outcome() is None:
        position.play(position.rng().choice(position.free))
    game = 0
    outcome: Outcome | None = position.outcome()
    while outcome is None and draws < plies:
        if position.side == side:
            if not game:
                game = session.begin(variant, side, side_seed(seed, side), position.moves)
                await session.prepared()
            await _moved(session, game, position, side)
        else:
            position.play(position.rng().choice(position.free))
        draws += 1
        outcome = position.outcome()
    if game:
        await session.end(game, outcome or VOID, position.moves)
    return position


def _nearly_full(variant: Variant) -> Position | None:
    """Return a random position with one free cell and no line; None if that takes too long."""
    for seed in range(_MOVES_TO_FIND_IT // variant.cells):
        position = Position(variant, seed=seed)
        while position.outcome() is None and len(position.free) > 1:
            position.play(position.rng().choice(position.free))
        if position.outcome() is None and len(position.free) == 1:
            return position
    return None


# The steps, in order.


async def _starts(trial: _Trial) -> None:
    await trial.session()


async def _is_called(trial: _Trial) -> None:
    await trial.session()
    if not trial.name:
        raise NotForThisBot("it declares no name, so its spec is its name")
    if not _NAME.fullmatch(trial.name):
        raise StepFailed(f"it calls itself {trial.name[:100]!r}")


async def _claims(trial: _Trial) -> None:
    await trial.session()
    if not trial.variants:
        raise NotForThisBot("it declares none, so it must play all")
    for name in trial.variants:
        if is_family(name):
            continue
        try:
            parse_variant(name)
        except VariantError as error:
            raise StepFailed(f"it declares {name!r}: {error}") from None


def _side(side: int) -> Callable[[_Trial], Awaitable[None]]:
    async def run(trial: _Trial) -> None:
        await _play(await trial.session(), trial.variant(), side)

    return run


def _plays(name: str) -> Callable[[_Trial], Awaitable[None]]:
    async def run(trial: _Trial) -> None:
        session = await trial.session()
        variant = parse_variant(name)
        if not covers(trial.variants, variant.name):
            raise NotForThisBot("it does not declare this variant")
        if not session.knows(variant):
            raise NotForThisBot("engines play five in a row on flat boards")
        try:
            for side in (0, 1):
                await _play(session, variant, side, plies=_PLIES_OF_A_VARIANT, seed=side + 3)
        except (StepFailed, Resign, BotError) as failure:
            if trial.variants or variant is trial.chosen:
                raise
            await trial.leave()
            raise NotForThisBot(_unclaimed(failure)) from failure

    return run


def _unclaimed(failure: Exception) -> str:
    """Return the failure of a bot that declares no variants, which can be entered in all by mistake."""
    return f"it declares no variants, and would lose here: {failure}. Declare those that it plays"


async def _full_board(trial: _Trial) -> None:
    session, variant = await trial.session(), trial.variant()
    position = _nearly_full(variant)
    if position is None:
        raise NotForThisBot(f"no position of {variant.name} with one free cell was found")
    game = session.begin(variant, position.side, 7, position.moves)
    await _moved(session, game, position, position.side)
    await session.end(game, position.outcome() or VOID, position.moves)


async def _openings(trial: _Trial) -> None:
    session, variant = await trial.session(), trial.variant()
    for side, opening in ((0, 2), (1, 1), (0, 4), (1, 3)):
        await _play(session, variant, side, opening=opening, seed=11 + opening)


async def _short_clock(trial: _Trial) -> None:
    session, variant = await trial.session(), trial.variant()
    before, session.clock_us = session.clock_us, _SHORT_CLOCK_US
    try:
        for side in (0, 1):
            position = Position(variant, seed=5)
            if side:
                position.play(position.free[0])
            game = session.begin(variant, side, 5, position.moves)
            await session.prepared()
            began = time.perf_counter()
            await _moved(session, game, position, side)
            took = time.perf_counter() - began
            if took * 1e6 > _SHORT_CLOCK_US:
                raise StepFailed(f"it took {took:.2f} s for a move; its limit was {_SHORT_CLOCK_US / 1e6:g} s")
            await session.end(game, VOID, position.moves)
    finally:
        session.clock_us = before


async def _no_clock(trial: _Trial) -> None:
    session = await trial.session()
    if session.is_engine:
        raise NotForThisBot("engines always get a time limit here")
    before, session.clock_us = session.clock_us, 0
    try:
        await _play(session, trial.variant(), 0, plies=2)
    finally:
        session.clock_us = before


async def _many_games(trial: _Trial) -> None:
    session, variant = await _frames(trial), trial.variant()
    # A slow bot gets fewer games, because all of them together have the time of one answer.
    began = time.perf_counter()
    await _play(session, variant, 0, plies=1, seed=9)
    seconds = time.perf_counter() - began
    most = min(_MANY_GAMES, max(2, int(_SHARE_OF_PATIENCE * trial.patience / seconds)))
    games: dict[int, list[int]] = {}
    positions: dict[int, Position] = {}
    for number in range(most):
        position = Position(variant, seed=number)
        position.play(position.rng().choice(position.free))
        game = session.begin(variant, 1, side_seed(number, 1), position.moves, number + 1)
        games[game], positions[game] = position.moves, position
    for game, cell in (await session.ask_many(games)).items():
        if cell is None:
            raise Resign
        if cell not in positions[game].free:
            raise StepFailed(f"it {wrong_move(positions[game], cell)}, in one of {most} concurrent games")
    for game, moves in games.items():
        await session.end(game, VOID, moves)


async def _two_in_turns(trial: _Trial) -> None:
    session, variant = await _frames(trial), trial.variant()
    positions = {}
    for number in range(2):
        position = Position(variant, seed=number)
        positions[session.begin(variant, 0, side_seed(number, 0), position.moves, number + 1)] = position
    for _ in range(2):
        for game, position in positions.items():
            if position.outcome() is None:
                await _moved(session, game, position, 0)
            if position.outcome() is None:
                position.play(position.rng().choice(position.free))
    for game, position in positions.items():
        await session.end(game, position.outcome() or VOID, position.moves)


async def _two_variants(trial: _Trial) -> None:
    session = await _frames(trial)
    names = [name for name in ("tictactoe", "connect4", _FAMILY, "gomoku", "qubic") if covers(trial.variants, name)]
    if len(names) < 2:
        raise NotForThisBot("it plays one variant")
    if not trial.variants:
        names = [trial.chosen.name, _OTHER_SIZES[trial.chosen.name == _OTHER_SIZES[0]]]
    games = {}
    for number, name in enumerate(names[:2]):
        variant = parse_variant(name)
        games[session.begin(variant, 0, number + 1, [], number + 1)] = Position(variant)
    try:
        for game, position in games.items():
            await _moved(session, game, position, 0)
            await session.end(game, VOID, position.moves)
    except (StepFailed, Resign, BotError) as failure:
        if trial.variants:
            raise
        await trial.leave()
        raise NotForThisBot(_unclaimed(failure)) from failure


async def _seeds_repeat(trial: _Trial) -> None:
    session, variant = await trial.session(), trial.variant()
    first = (await _play(session, variant, 0, seed=21)).moves
    async with trial.another() as other:
        await other.greet()
        other.clock_us = session.clock_us
        again = (await _play(other, variant, 0, seed=21)).moves
    if first != again:
        raise NotForThisBot("its games differ with the same seed: they cannot be reproduced, which is allowed")


async def _asked_again(trial: _Trial) -> None:
    session, variant = await trial.session(), trial.variant()
    position = Position(variant, seed=2)
    game = session.begin(variant, 0, side_seed(2, 0), [])
    first = (await session.ask(game, [])).cell
    await session.end(game, VOID, [])
    game = session.begin(variant, 0, side_seed(2, 0), [])
    again = (await session.ask(game, [])).cell
    await session.end(game, VOID, [])
    if {first, again} - set(position.free):
        raise StepFailed("it made an illegal first move")


def _ends_early(outcome: Outcome, side: int) -> Callable[[_Trial], Awaitable[None]]:
    """Return a step in which a game ends after the bot's first move, and another follows."""

    async def run(trial: _Trial) -> None:
        session, variant = await trial.session(), trial.variant()
        position = Position(variant)
        game = session.begin(variant, 0, 1, [])
        await _moved(session, game, position, 0)
        await session.end(game, outcome, position.moves)
        await _play(session, variant, side, seed=31)

    return run


async def _ended_before_asked(trial: _Trial) -> None:
    session, variant = await trial.session(), trial.variant()
    game = session.begin(variant, 1, 1, [])
    await session.prepared()
    await session.end(game, lost(0, Termination.TIMEOUT), [])
    await _play(session, variant, 0, plies=2, seed=35)


async def _heartbeat(trial: _Trial) -> None:
    session = await _frames(trial)
    for number in (1, 2, 3):
        await session.heartbeat(number)


async def _quiet(trial: _Trial) -> None:
    await (await _frames(trial)).quiet(_QUIET_SECONDS)


async def _slow_machine(trial: _Trial) -> None:
    session, variant = await trial.session(), trial.variant()
    position = Position(variant)
    game = session.begin(variant, 0, 1, [])
    await session.prepared()
    move = await session.ask_while_halted(game, [], _HALTED_SECONDS)
    if move.cell not in position.free:
        raise StepFailed(f"it {wrong_move(position, move.cell)}")
    await session.end(game, VOID, [])


async def _resumes(trial: _Trial) -> None:
    session, variant = await trial.session(), trial.variant()
    position = Position(variant, seed=41)
    game = session.begin(variant, 0, side_seed(41, 0), [])
    await _moved(session, game, position, 0)
    position.play(position.rng().choice(position.free))
    session = await trial.anew()
    if position.outcome() is None:
        game = session.begin(variant, 0, side_seed(41, 0), position.moves)
        await _moved(session, game, position, 0)
        await session.end(game, position.outcome() or VOID, position.moves)


async def _side_by_side(trial: _Trial) -> None:
    session, variant = await trial.session(), trial.variant()
    async with trial.another() as other:
        await other.greet()
        other.clock_us = session.clock_us
        await _play(other, variant, 1, seed=43)
    await _play(session, variant, 0, plies=2, seed=45)


async def _hundred_games(trial: _Trial) -> None:
    session, variant = await trial.session(), trial.variant()
    began = time.perf_counter()
    for number in range(100):
        await _play(session, variant, number % 2, seed=100 + number, plies=8)
        if time.perf_counter() - began > 10:
            return


async def _killed_in_a_game(trial: _Trial) -> None:
    session, variant = await trial.session(), trial.variant()
    session.begin(variant, 0, 1, [])
    await session.prepared()
    await trial.anew()
    await _play(await trial.session(), variant, 0, plies=2)


async def _leaves(trial: _Trial) -> None:
    session = await trial.session()
    if session.is_engine:
        await _play(session, trial.variant(), 0, plies=1)
    death = await session.close()
    await trial.leave()
    if death.code is None:
        raise StepFailed("it did not exit when its input was closed, and was killed")
    if death.code != 0 and not session.is_engine:
        raise StepFailed(f"it {death.reason} when its input was closed")


async def _frames(trial: _Trial) -> ChildSession:
    """Return the session of a bot that speaks frames itself."""
    session = await trial.session()
    if session.is_engine:
        raise NotForThisBot("engines get one question at a time")
    return session


_STEPS = (
    _Step("starts and says hello", "see what it printed; its first frame is a hello", _starts),
    _Step("has a name that can be used", "1 to 63 of a-z A-Z 0-9 and -_.:=,#+", _is_called),
    _Step("declares known variants", "`noughts variants` lists them", _claims),
    _Step("plays a game moving first", _LEGAL, _side(0)),
    _Step("plays a game moving second", _LEGAL, _side(1)),
    *(
        _Step(f"plays {name}", f"{_LEGAL}; or declare only what it plays: `variants = (...)`", _plays(name))
        for name in _VARIANTS
    ),
    _Step("fills the last cell of a board", _LEGAL, _full_board),
    _Step("continues after an opening", f"the moves so far may not be its own: {_RULES}", _openings),
    _Step("keeps a short time limit", "check position.limit_us, and answer within that time", _short_clock),
    _Step("plays without a clock", "without a clock, limits are 0 or -1: do not divide by them", _no_clock),
    _Step(f"plays {_MANY_GAMES} games at once", "store data of a game under its name or number", _many_games),
    _Step("alternates between two games", "store data of a game under its name or number", _two_in_turns),
    _Step("plays two variants in one process", "read the variant from each position", _two_variants),
    _Step("plays a hundred games in one process", "data grows, or is not reset between games", _hundred_games),
    _Step("repeats its games with the same seed", "take random numbers only from position.rng()", _seeds_repeat),
    _Step("answers the same first question twice", _LEGAL, _asked_again),
    _Step("continues after an aborted game", "a game can end at any time", _ends_early(VOID, 1)),
    _Step("continues after its opponent has resigned", "a game can end at any time", _ends_early(_RESIGNED, 0)),
    _Step(
        "continues after a game in which it made no move",
        "a game can end before its first question",
        _ended_before_asked,
    ),
    _Step(
        "sends heartbeats back", "answer a frame with a heartbeat immediately, even while the bot thinks", _heartbeat
    ),
    _Step("sends nothing without a question", "answer questions, once each", _quiet),
    _Step("answers on a machine that pauses", "do not give up after a pause", _slow_machine),
    _Step("resumes a game in a new process", "the moves so far are the complete state; rely on nothing else", _resumes),
    _Step("plays next to another process of the same bot", "do not lock files or ports that both need", _side_by_side),
    _Step("starts again after a crash during a game", "leave nothing behind that prevents a start", _killed_in_a_game),
    _Step("exits when its input is closed", "exit at the end of standard input, with exit code 0", _leaves),
)
STEPS = tuple(step.name for step in _STEPS)
