"""Tournaments of any shape, in one line each."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from noughts_referee.arbiter import Answers, Arbiter, Complaint
from noughts_referee.clock import parse_time_control
from noughts_referee.game import Game, Player
from noughts_referee.rules import parse_variant
from noughts_referee.work_units import GameConditions, Slot, Unit


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
    )


def unit(shared: GameConditions, slots: int | Iterable[Slot] = 1, *, attempt: int = 1) -> Unit:
    """A unit of these slots, or of so many games between the first two entries, who take turns in moving first."""
    if isinstance(slots, int):
        slots = [Slot(ordinal, (ordinal + 1) % 2, ordinal % 2) for ordinal in range(1, slots + 1)]
    return Unit(shared, attempt, list(slots))


class Question(NamedTuple):
    """One question to a player."""

    game: int
    ply: int
    cell: int


class Table:
    """An arbiter with some players, who answer what the test says. Time is what the test says, too."""

    def __init__(self, *, margin_us: int = 50_000) -> None:
        self.arbiter = Arbiter()
        self.margin_us = margin_us
        self.players: dict[int, Player] = {}

    def player(self, key: int) -> Player:
        return self.players.setdefault(key, Player(key, self.margin_us))

    def start(self, shared: GameConditions | None = None, slot: Slot | None = None) -> Game:
        shared, slot = shared or conditions(), slot or Slot(1, 0, 1)
        first, second = self.player(shared.players[slot.first]), self.player(shared.players[slot.second])
        return self.arbiter.start(unit(shared), slot, first, second)

    def answer(self, game: Game, cell: int, took: int = 0, *, resigns: bool = False) -> list[Complaint]:
        """The side to move answers."""
        resigned = [0] if resigns else []
        return self.arbiter.judge_answers(game.mover, Answers([game.handle], [game.ply], [cell], [took], resigned))

    def play(self, game: Game, moves: Iterable[int], took: int = 0) -> None:
        for cell in moves:
            assert self.answer(game, cell, took) == []

    def told(self, key: int) -> list[Question]:
        """The questions that have been collected for a player, who gets an empty outbox."""
        outbox = self.player(key).take_outbox()
        rows = zip(outbox.turn_game, outbox.turn_ply, outbox.turn_cell, strict=True)
        return [Question(*row) for row in rows]


def verdict(game: Game) -> tuple[str, str]:
    """A game's result and termination as text."""
    return str(game.result), str(game.termination)
