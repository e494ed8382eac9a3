"""The steps of `noughts bot check`: each has a name, and advice for a failure."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from noughts_bots.reference.specs import BotSpec
from noughts_bots.sdk.bot import Resign
from noughts_bots.sdk.errors import BotError
from noughts_proto.names import NAME
from noughts_referee.children.launcher import Launcher
from noughts_referee.rules import (
    VOID,
    Outcome,
    Position,
    Termination,
    VariantError,
    covers,
    is_family,
    lost,
    parse_variant,
    side_seed,
)
from noughts_server.bot_check.child_session import ChildSession, wrong_move
from noughts_server.bot_check.conformance import ConformancePlan
from noughts_server.bot_check.trial import FAMILY, NotForThisBot, StepFailed, Trial, moved, nearly_full, play

_Run = Callable[[Trial, ChildSession], Awaitable[None]]
_PLIES_OF_A_VARIANT = 6
"""A few plies show whether a bot plays a variant."""
_MANY_GAMES = 64
"""Concurrent games of a step; fewer for a slow bot."""
_SHARE_OF_TIME = 0.3
"""The share of the longest wait in which many concurrent games should be answered."""
_HALTED_SECONDS = 0.3
"""Seconds for which the process is halted, to see whether the answer still arrives."""
_QUIET_SECONDS = 0.25
"""Seconds in which a bot that was not asked must send no move."""
_SHORT_CLOCK_US = 300_000
"""The limit of a move in the step with a short time limit."""
_LEAVE_SECONDS = 5.0
"""Seconds in which a bot must exit at the end of its input: more than in play, because the machine can be loaded."""
_ATTEMPTS_IN_TIME = 3
"""Attempts to make a move within the short limit, because the processor can be busy with other processes."""
_RESIGNED = lost(1, Termination.RESIGNED)
_VARIANTS = ("tictactoe", "connect4", FAMILY, "tictactoe3d", "qubic", "gomoku", "gomoku:exact", "renju", "caro")
_OTHER_SIZES = ("mnk:4,4,3", "tictactoe")

_RULES = "docs/how-to/writing-a-bot.md describes the content of a question"
_LEGAL = "play one of the free cells of the position in the question; position.free lists them"


@dataclass(frozen=True, slots=True)
class StepResult:
    name: str
    outcome: str
    """`passed`, `failed` or `skipped`."""
    seconds: float
    detail: str = ""
    """The result of the step, or the reason why it was skipped."""
    advice: str = ""
    """Advice after a failure."""
    output: str = field(default="", repr=False)
    """The bot's output, if it has ended."""

    def document(self) -> dict[str, Any]:
        document = {"name": self.name, "outcome": self.outcome, "seconds": round(self.seconds, 4)}
        return {**document, "detail": self.detail, "advice": self.advice}


@dataclass(frozen=True, slots=True)
class _Step:
    name: str
    advice: str
    run: _Run
    in_frames: bool
    """Whether it applies only to bots that speak frames themselves."""


_STEPS: list[_Step] = []


def _step(name: str, advice: str, *, in_frames: bool = False) -> Callable[[_Run], _Run]:
    """Make a function the next step."""

    def add(run: _Run) -> _Run:
        _STEPS.append(_Step(name, advice, run, in_frames))
        return run

    return add


async def run_steps(spec: BotSpec, launcher: Launcher, plan: ConformancePlan) -> list[StepResult]:
    """Run all steps in order, in the plan's variant if possible."""
    trial = Trial(spec, launcher, plan)
    results: list[StepResult] = []
    try:
        for number, step in enumerate(_STEPS):
            plan.on_progress(number, len(_STEPS), f"step {number + 1} of {len(_STEPS)}: {step.name}")
            began = time.perf_counter()
            outcome = "passed"
            detail = ""
            output = ""
            try:
                session = await trial.session()
                if step.in_frames and session.is_engine:
                    raise NotForThisBot("engines get one question at a time")
                await step.run(trial, session)
            except NotForThisBot as reason:
                outcome, detail = "skipped", str(reason)
            except StepFailed as failure:
                outcome, detail = "failed", str(failure)
            except Resign as resignation:
                outcome, detail = "failed", f"it resigned{f' with {resignation}' if str(resignation) else ''}"
            except BotError as error:
                outcome, detail = "failed", f"got {error.got}, expected {error.expected}"
            if outcome == "failed":
                output = await trial.leave()
            advice = step.advice if outcome == "failed" else ""
            results.append(
                StepResult(
                    name=step.name,
                    outcome=outcome,
                    seconds=time.perf_counter() - began,
                    detail=detail,
                    advice=advice,
                    output=output,
                )
            )
            if outcome == "failed" and step is _STEPS[0]:
                break  # no other step is possible
    finally:
        await trial.leave()
    return results


# The steps, in order.


@_step("starts and says hello", "see what it printed; its first frame is a hello")
async def _starts(trial: Trial, session: ChildSession) -> None:
    """Do nothing: a step gets a session that has started."""


@_step("has a name that can be used", "1 to 63 of a-z A-Z 0-9 and -_.:=,#+")
async def _has_a_name(trial: Trial, session: ChildSession) -> None:
    if not trial.name:
        raise NotForThisBot("it declares no name, so its spec is its name")
    if not NAME.fullmatch(trial.name):
        raise StepFailed(f"it calls itself {trial.name[:100]!r}")


@_step("declares known variants", "`noughts variants` lists them")
async def _declares_variants(trial: Trial, session: ChildSession) -> None:
    if not trial.variants:
        raise NotForThisBot("it declares none, so it must play all")
    for name in trial.variants:
        if is_family(name):
            continue
        try:
            parse_variant(name)
        except VariantError as error:
            raise StepFailed(f"it declares {name!r}: {error}") from None


async def _moves_as(side: int, trial: Trial, session: ChildSession) -> None:
    await play(session, trial.variant, side)


for _side, _place in enumerate(("first", "second")):
    _step(f"plays a game moving {_place}", _LEGAL)(partial(_moves_as, _side))


async def _plays(name: str, trial: Trial, session: ChildSession) -> None:
    variant = parse_variant(name)
    if not covers(trial.variants, variant.name):
        raise NotForThisBot("it does not declare this variant")
    if not session.knows(variant):
        raise NotForThisBot("engines play five in a row on flat boards")
    async with trial.skipped_on_failure(failure_counts=variant is trial.chosen):
        try:
            for side in (0, 1):
                await play(session, variant, side, plies=_PLIES_OF_A_VARIANT, seed=side + 3)
        except BotError:
            if variant is trial.chosen or not session.lacks_rule:
                raise
            await trial.leave()
            raise NotForThisBot("it does not know the rule of this variant") from None


for _name in _VARIANTS:
    _step(f"plays {_name}", f"{_LEGAL}; or declare only what it plays: `variants = (...)`")(partial(_plays, _name))


@_step("fills the last cell of a board", _LEGAL)
async def _full_board(trial: Trial, session: ChildSession) -> None:
    position = nearly_full(trial.variant)
    if position is None:
        raise NotForThisBot(f"no position of {trial.variant.name} with one free cell was found")
    game = session.begin(trial.variant, position.side, 7, position.moves)
    await moved(session, game, position)
    await session.end(game, position.outcome() or VOID, position.moves)


@_step("continues after an opening", f"the moves so far may not be its own: {_RULES}")
async def _openings(trial: Trial, session: ChildSession) -> None:
    for side, opening in ((0, 2), (1, 1), (0, 4), (1, 3)):
        await play(session, trial.variant, side, opening=opening, seed=11 + opening)


@_step("keeps a short time limit", "check position.limit_us, and answer within that time")
async def _short_clock(trial: Trial, session: ChildSession) -> None:
    usual_clock_us = session.clock_us
    session.clock_us = _SHORT_CLOCK_US
    try:
        for side in (0, 1):
            took = 0.0
            for _ in range(_ATTEMPTS_IN_TIME):
                took = await _seconds_of_a_move(trial, session, side)
                if took * 1e6 <= _SHORT_CLOCK_US:
                    break
            else:
                raise StepFailed(f"it took {took:.2f} s for a move; its limit was {_SHORT_CLOCK_US / 1e6:g} s")
    finally:
        session.clock_us = usual_clock_us


async def _seconds_of_a_move(trial: Trial, session: ChildSession, side: int) -> float:
    position = Position(trial.variant, seed=5)
    if side:
        position.play(position.free[0])
    game = session.begin(trial.variant, side, 5, position.moves)
    await session.wait_until_prepared()
    began = time.perf_counter()
    await moved(session, game, position)
    took = time.perf_counter() - began
    await session.end(game, VOID, position.moves)
    return took


@_step("plays without a clock", "without a clock, limits are 0 or -1: do not divide by them")
async def _no_clock(trial: Trial, session: ChildSession) -> None:
    if session.is_engine:
        raise NotForThisBot("engines always get a time limit here")
    usual_clock_us = session.clock_us
    session.clock_us = 0
    try:
        await play(session, trial.variant, 0, plies=2)
    finally:
        session.clock_us = usual_clock_us


@_step(f"plays {_MANY_GAMES} games at once", "store data of a game under its name or number", in_frames=True)
async def _many_games(trial: Trial, session: ChildSession) -> None:
    # A slow bot gets fewer games, because all of them together have the time of one answer.
    began = time.perf_counter()
    await play(session, trial.variant, 0, plies=1, seed=9)
    seconds = time.perf_counter() - began
    most = min(_MANY_GAMES, max(2, int(_SHARE_OF_TIME * trial.longest_wait / seconds)))
    games: dict[int, list[int]] = {}
    positions: dict[int, Position] = {}
    for number in range(most):
        position = Position(trial.variant, seed=number)
        position.play(position.rng().choice(position.free))
        game = session.begin(trial.variant, 1, side_seed(number, 1), position.moves, number + 1)
        games[game] = position.moves
        positions[game] = position
    for game, cell in (await session.ask_many(games)).items():
        if cell is None:
            raise Resign
        if cell not in positions[game].free:
            raise StepFailed(f"it {wrong_move(positions[game], cell)}, in one of {most} concurrent games")
    for game, moves in games.items():
        await session.end(game, VOID, moves)


@_step("alternates between two games", "store data of a game under its name or number", in_frames=True)
async def _two_in_turns(trial: Trial, session: ChildSession) -> None:
    positions = {}
    for number in range(2):
        position = Position(trial.variant, seed=number)
        positions[session.begin(trial.variant, 0, side_seed(number, 0), position.moves, number + 1)] = position
    for _ in range(2):
        for game, position in positions.items():
            if position.outcome() is None:
                await moved(session, game, position)
            if position.outcome() is None:
                position.play(position.rng().choice(position.free))
    for game, position in positions.items():
        await session.end(game, position.outcome() or VOID, position.moves)


@_step("plays two variants in one process", "read the variant from each position", in_frames=True)
async def _two_variants(trial: Trial, session: ChildSession) -> None:
    names = [name for name in ("tictactoe", "connect4", FAMILY, "gomoku", "qubic") if covers(trial.variants, name)]
    if len(names) < 2:
        raise NotForThisBot("it plays one variant")
    if not trial.variants:
        other_sizes = (name for name in _OTHER_SIZES if name != trial.chosen.name)
        names = [trial.chosen.name, next(other_sizes)]
    games = {}
    for number, name in enumerate(names[:2]):
        variant = parse_variant(name)
        games[session.begin(variant, 0, number + 1, [], number + 1)] = Position(variant)
    async with trial.skipped_on_failure():
        for game, position in games.items():
            await moved(session, game, position)
            await session.end(game, VOID, position.moves)


@_step("plays a hundred games in one process", "data grows, or is not reset between games")
async def _hundred_games(trial: Trial, session: ChildSession) -> None:
    began = time.perf_counter()
    for number in range(100):
        await play(session, trial.variant, number % 2, seed=100 + number, plies=8)
        if time.perf_counter() - began > 10:
            return


@_step("repeats its games with the same seed", "take random numbers only from position.rng()")
async def _seeds_repeat(trial: Trial, session: ChildSession) -> None:
    first = (await play(session, trial.variant, 0, seed=21)).moves
    async with trial.another() as other:
        again = (await play(other, trial.variant, 0, seed=21)).moves
    if first != again:
        raise NotForThisBot("its games differ with the same seed: they cannot be reproduced, which is allowed")


@_step("answers the same first question twice", _LEGAL)
async def _asked_again(trial: Trial, session: ChildSession) -> None:
    answers = set()
    for _ in range(2):
        game = session.begin(trial.variant, 0, side_seed(2, 0), [])
        answers.add((await session.ask(game, [])).cell)
        await session.end(game, VOID, [])
    if answers - set(Position(trial.variant).free):
        raise StepFailed("it made an illegal first move")


async def _ends_early(outcome: Outcome, side: int, trial: Trial, session: ChildSession) -> None:
    """End a game after the bot's first move, and play another."""
    position = Position(trial.variant)
    game = session.begin(trial.variant, 0, 1, [])
    await moved(session, game, position)
    await session.end(game, outcome, position.moves)
    await play(session, trial.variant, side, seed=31)


for _event, _outcome, _side in (("an aborted game", VOID, 1), ("its opponent has resigned", _RESIGNED, 0)):
    _step(f"continues after {_event}", "a game can end at any time")(partial(_ends_early, _outcome, _side))


@_step("continues after a game in which it made no move", "a game can end before its first question")
async def _ended_before_asked(trial: Trial, session: ChildSession) -> None:
    game = session.begin(trial.variant, 1, 1, [])
    await session.wait_until_prepared()
    await session.end(game, lost(0, Termination.TIMEOUT), [])
    await play(session, trial.variant, 0, plies=2, seed=35)


@_step(
    "sends heartbeats back", "answer a frame with a heartbeat immediately, even while the bot thinks", in_frames=True
)
async def _heartbeat(trial: Trial, session: ChildSession) -> None:
    for number in (1, 2, 3):
        await session.check_heartbeat(number)


@_step("sends nothing without a question", "answer questions, once each", in_frames=True)
async def _quiet(trial: Trial, session: ChildSession) -> None:
    await session.check_quiet(_QUIET_SECONDS)


@_step("answers on a machine that pauses", "do not give up after a pause")
async def _slow_machine(trial: Trial, session: ChildSession) -> None:
    position = Position(trial.variant)
    game = session.begin(trial.variant, 0, 1, [])
    await session.wait_until_prepared()
    move = await session.ask_while_halted(game, [], _HALTED_SECONDS)
    if move.cell not in position.free:
        raise StepFailed(f"it {wrong_move(position, move.cell)}")
    await session.end(game, VOID, [])


@_step("resumes a game in a new process", "the moves so far are the complete state; rely on nothing else")
async def _resumes(trial: Trial, session: ChildSession) -> None:
    position = Position(trial.variant, seed=41)
    game = session.begin(trial.variant, 0, side_seed(41, 0), [])
    await moved(session, game, position)
    position.play(position.rng().choice(position.free))
    session = await trial.restarted()
    if position.outcome() is None:
        game = session.begin(trial.variant, 0, side_seed(41, 0), position.moves)
        await moved(session, game, position)
        await session.end(game, position.outcome() or VOID, position.moves)


@_step("plays next to another process of the same bot", "do not lock files or ports that both need")
async def _side_by_side(trial: Trial, session: ChildSession) -> None:
    async with trial.another() as other:
        await play(other, trial.variant, 1, seed=43)
    await play(session, trial.variant, 0, plies=2, seed=45)


@_step("starts again after a crash during a game", "leave nothing behind that prevents a start")
async def _killed_in_a_game(trial: Trial, session: ChildSession) -> None:
    session.begin(trial.variant, 0, 1, [])
    await session.wait_until_prepared()
    await play(await trial.restarted(), trial.variant, 0, plies=2)


@_step("exits when its input is closed", "exit at the end of standard input, with exit code 0")
async def _leaves(trial: Trial, session: ChildSession) -> None:
    if session.is_engine:
        await play(session, trial.variant, 0, plies=1)
    death = await session.leave(_LEAVE_SECONDS)
    await trial.leave()
    if death.code is None:
        raise StepFailed("it did not exit when its input was closed, and was killed")
    if death.code != 0 and not session.is_engine:
        raise StepFailed(f"it {death.reason} when its input was closed")


STEPS = tuple(step.name for step in _STEPS)
