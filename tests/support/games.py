"""Conditions, units and an arbiter for tests of games: each in one line."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from noughts_referee.arbiter import Answers, Arbiter, Complaint
from noughts_referee.clock import parse_time_control
from noughts_referee.game import Game, Player
from noughts_referee.rules import parse_variant
from noughts_referee.work_units import GameConditions, ScheduledGame, Unit


def conditions(
    variant: str = "tictactoe",
    time: str = "none",
    *,
    tournament: int = 1,
    concurrency: int = 1_000,
    players: tuple[int, ...] = (1, 2),
    seed: int = 1,
    own_times: Mapping[str, str] | None = None,
    guest: bool = False,
    guest_test: bool = False,
    keep_scores: bool = False,
    margin_ms: int = 0,
    scale_time: bool = False,
) -> GameConditions:
    return GameConditions(
        tournament=tournament,
        name=f"tournaments/{tournament}",
        variant=parse_variant(variant),
        time=parse_time_control(time),
        seed=seed,
        concurrency=concurrency,
        players=players,
        labels=tuple(f"bot-{player}" for player in players),
        own_times={label: parse_time_control(text) for label, text in (own_times or {}).items()},
        guest=guest or guest_test,
        guest_test=guest_test,
        keep_scores=keep_scores,
        margin_ms=margin_ms,
        scale_time=scale_time,
    )


def unit(shared: GameConditions, slots: int | Iterable[ScheduledGame] = 1, *, attempt: int = 1) -> Unit:
    """Return a unit of these scheduled games, or of this number of games between the first two entries.

    The entries move first in turn.
    """
    if isinstance(slots, int):
        slots = [ScheduledGame(ordinal, (ordinal + 1) % 2, ordinal % 2) for ordinal in range(1, slots + 1)]
    return Unit(shared, attempt, list(slots))


class Question(NamedTuple):
    """One question to a player."""

    game: int
    ply: int
    cell: int


class ArbiterDriver:
    """An arbiter whose players give the answers, and take the times, that a test says."""

    def __init__(self, *, margin_us: int = 50_000, time_factor: float = 1.0) -> None:
        self.arbiter = Arbiter(time_factor)
        self.margin_us = margin_us
        self.players: dict[int, Player] = {}

    def player(self, key: int) -> Player:
        return self.players.setdefault(key, Player(key, self.margin_us))

    def start(self, shared: GameConditions | None = None, slot: ScheduledGame | None = None) -> Game:
        shared, slot = shared or conditions(), slot or ScheduledGame(1, 0, 1)
        first, second = self.player(shared.players[slot.first]), self.player(shared.players[slot.second])
        return self.arbiter.start(unit(shared), slot, first, second)

    def answer(self, game: Game, cell: int, took: int = 0, *, resigns: bool = False) -> list[Complaint]:
        """Answer as the side to move, after `took` microseconds."""
        resigned = [0] if resigns else []
        return self.arbiter.judge_answers(game.mover, Answers([game.handle], [game.ply], [cell], [took], resigned))

    def play(self, game: Game, moves: Iterable[int], took: int = 0) -> None:
        for cell in moves:
            assert self.answer(game, cell, took) == []

    def take_questions(self, key: int) -> list[Question]:
        """Return the questions in a player's outbox, and empty it."""
        outbox = self.player(key).take_outbox()
        rows = zip(outbox.turn_game, outbox.turn_ply, outbox.turn_cell, strict=True)
        return [Question(*row) for row in rows]


def verdict(game: Game) -> tuple[str, str]:
    """Return a game's result and termination as text."""
    return str(game.result), str(game.termination)
