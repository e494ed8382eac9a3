"""What others need of a referee, wherever it plays: in this process, or as the referees of a cluster."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from noughts_referee.arbiter import Answers, Complaint
from noughts_referee.player_connection import PlayerConnection
from noughts_referee.referee import ConnectedPlayer
from noughts_referee.rules import Choice, Termination
from noughts_referee.stalls import Stalls


class PlayerReferee(Protocol):
    """What connections to players need. Arguments: see `Referee`."""

    @property
    def stalls(self) -> Stalls:
        """When the server stood still: connections do not count that time."""

    def player(self, key: int) -> ConnectedPlayer:
        """The player with this key, made at first sight."""

    def release(self, key: int) -> bool:
        """Forgets a player, unless it is needed. Whether it is forgotten."""

    def joined(self, player: ConnectedPlayer, wire: PlayerConnection) -> None:
        """The player is there (again): it is sent its running games."""

    def answered(self, player: ConnectedPlayer, answers: Answers) -> list[Complaint]:
        """The player answers; returns what is wrong with answers that name no question."""

    def chosen(
        self, player: ConnectedPlayer, choices: Iterable[tuple[int, int, Choice | None, str]], times_us: Sequence[int]
    ) -> list[Complaint]:
        """The player's choices for openings."""

    def silent(self, player: ConnectedPlayer, questions: Iterable[tuple[int, int, int]]) -> None:
        """Questions (game, ply, microseconds since asked) have passed their limit."""

    def forfeit(self, player: ConnectedPlayer, termination: Termination, fault: str = "") -> None:
        """The player is gone for good and loses its running games."""


class RefereeCounts(Protocol):
    """What is counted of the games that are played."""

    @property
    def stalls(self) -> Stalls:
        """When the server stood still."""

    @property
    def plies(self) -> int:
        """Answers taken since the start."""

    @property
    def late_answers(self) -> int:
        """Answers that came too late, since the start."""

    def in_flight(self, tournament: int | None = None) -> int:
        """Running games: of one tournament, or all."""

    def queued(self) -> int:
        """Slots that wait to be started, of all tournaments."""
