"""Check a bot in a child process with a few games against random moves, for `noughts bot check`."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from noughts_bots.reference.specs import BotSpec
from noughts_bots.sdk.bot import Resign
from noughts_bots.sdk.errors import BotError, BotSpecError
from noughts_referee.children.child_settings import ChildSettings
from noughts_referee.children.dialled_frames import Invite
from noughts_referee.children.launcher import Launcher
from noughts_referee.clock import MARGIN_US
from noughts_referee.rules import Position, Result, Termination, Variant, cell_name, game_seed, lost, side_seed
from noughts_server.bot_check.child_session import ChildSession, child_session, wrong_move
from noughts_server.bot_check.rule_probe import probe_rules

_FEW_CELLS = 9
"""Free cells that a report of an illegal move shows."""


@dataclass(slots=True)
class ConformanceReport:
    """The result of a few games."""

    spec: str
    variant: str
    name: str = ""
    """The name in the bot's hello."""
    variants: tuple[str, ...] = ()
    """The variants in the bot's hello; empty means all."""
    declines_challenges: bool = False
    """Whether the bot's hello declines games with the bots of other owners."""
    start_ms: float = 0.0
    """Time until its hello: the shorter of two starts, because the first can also start the launcher's processes."""
    games: list[list[int]] = field(default_factory=list)
    """The moves of each game; in the first, the third and so on the bot moved first."""
    wins: int = 0
    draws: int = 0
    losses: int = 0
    resigned: int = 0
    """Part of the losses."""
    move_us: list[float] = field(default_factory=list)
    """Time of each answer, including the transfer."""
    repeats: bool = True
    """Whether the same seeds gave the same games again."""
    faults: list[str] = field(default_factory=list)
    """A line for each fault."""
    lost_by: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Games lost through its own fault: for each kind their number, and what it did in the first."""
    output: str = ""
    """The last 64 KB of its output."""
    manners: dict[str, None] = field(default_factory=dict)
    """The peculiarities of an engine, in the order in which they were seen."""
    rules: dict[str, str] = field(default_factory=dict)
    """Whether an engine keeps the rule of each variant that has one."""

    def count(self, fault: str, description: str) -> None:
        """Count a game that the bot lost by a fault. Keep the description of the first game of each fault."""
        times, first = self.lost_by.get(fault, (0, description))
        self.lost_by[fault] = times + 1, first

    def document(self) -> dict[str, Any]:
        times = self.move_us
        document: dict[str, Any] = {
            "spec": self.spec,
            "name": self.name,
            "variant": self.variant,
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "resigned": self.resigned,
            "repeats": self.repeats,
            "faults": self.faults,
            "said": self.output,
            "games": len(self.games),
            "start_ms": round(self.start_ms, 1),
            "move_us": {"mean": sum(times) / len(times), "most": max(times)} if times else None,
        }
        if self.rules or self.manners:
            document |= {"manners": list(self.manners), "rules": self.rules}
        return document


@dataclass(frozen=True, slots=True)
class ConformancePlan:
    """The games to play."""

    variant: Variant
    games: int
    seed: int
    move_seconds: float
    """The longest wait for a move."""
    times: ChildSettings = ChildSettings()  # noqa: RUF009  # immutable
    invite: Invite | None = None
    """For a bot that connects."""
    clock_us: int = 0
    """The limit of each move; 0 means none in the games and a usual one in the steps."""
    on_progress: Callable[[int, int, str], None] = lambda finished, total, next_part: None
    """Receives the number of finished games or steps, the total, and what comes next."""


async def check(spec: BotSpec, plan: ConformancePlan, launcher: Launcher) -> ConformanceReport:
    """Play the games in one process and, without a fault, again in another. The kind must be one of child players."""
    report = await _games(spec, plan, launcher)
    if not report.faults:
        second = await _games(spec, plan, launcher)
        report.start_ms = min(report.start_ms, second.start_ms)
        report.repeats = second.games == report.games
        report.faults += second.faults
        report.output = second.output
        report.manners |= second.manners
    if report.move_us and spec.is_engine:
        report.rules = await probe_rules(spec, launcher, plan.times, plan.move_seconds)
    if report.games and report.resigned == len(report.games) and not report.lost_by:
        report.faults.append("it resigns every game")
    return report


async def _games(spec: BotSpec, plan: ConformancePlan, launcher: Launcher) -> ConformanceReport:
    """Play the games once, in one process."""
    report = ConformanceReport(str(spec), plan.variant.name)
    began = time.perf_counter()
    async with child_session(spec, launcher, plan.times, move_seconds=plan.move_seconds, invite=plan.invite) as session:
        try:
            await session.greet()
            report.start_ms = (time.perf_counter() - began) * 1e3
            report.name, report.variants = session.name, session.variants
            report.declines_challenges = session.declines_challenges
            session.require(plan.variant)
            session.clock_us = plan.clock_us or session.clock_us
            for number in range(plan.games):
                plan.on_progress(number, plan.games, f"game {number + 1} of {plan.games}")
                await _play(session, plan.variant, game_seed(plan.seed, number), number, report)
        except BotSpecError:
            raise
        except BotError as error:
            report.faults.append(f"got {error.got}, expected {error.expected}")
    report.output = session.output.strip()
    report.manners.update(session.manners)
    longest = max(report.move_us, default=0.0)
    if plan.clock_us and longest > plan.clock_us + MARGIN_US:
        report.faults.append(f"it took {longest / 1e6:.2f} s for a move; its limit was {plan.clock_us / 1e6:g} s")
    for fault, (times, first) in report.lost_by.items():
        report.faults.append(f"it {fault} in {times} of {len(report.games)} games, first in {first}")
    return report


async def _play(session: ChildSession, variant: Variant, seed: int, number: int, report: ConformanceReport) -> None:
    """Play one game against random moves. Raises BotError if it cannot continue."""
    side = number % 2
    position = Position(variant, seed=side_seed(seed, 1 - side))
    moves = position.moves
    report.games.append(moves)
    game = None
    outcome = None
    while outcome is None:
        if position.side != side:
            cell = position.rng().choice(position.free)
        else:
            if game is None:
                game = session.begin(variant, side, side_seed(seed, side), moves, number + 1)
                await session.wait_until_prepared()
            began = time.perf_counter()
            try:
                cell = (await session.ask(game, moves)).cell
            except Resign as resignation:
                report.resigned += 1
                if reason := str(resignation):
                    report.count(f"resigned with {reason}", f"game {number + 1} at ply {len(moves)}")
                outcome = lost(side, Termination.RESIGNED)
                continue
            report.move_us.append((time.perf_counter() - began) * 1e6)
            if cell not in position.free:
                free = ", ".join(
                    f"{cell_name(variant, free_cell)} ({free_cell})" for free_cell in position.free[:_FEW_CELLS]
                )
                more = f", ... ({len(position.free)} in all)" if len(position.free) > _FEW_CELLS else ""
                problem = (
                    f"it {wrong_move(position, cell)}, after the moves {moves};"
                    f" expected one of the free cells {free}{more}"
                )
                report.count("made an illegal move", f"game {number + 1} at ply {len(moves)}: {problem}")
                outcome = lost(side, Termination.ILLEGAL_MOVE)
                continue
        position.play(cell)
        outcome = position.outcome()
    if outcome.result is Result.DRAW:
        report.draws += 1
    elif outcome.winner == side:
        report.wins += 1
    elif outcome.loser == side:
        report.losses += 1
    if game is not None:
        await session.end(game, outcome, moves)
