"""The interfaces that the referee of this process and the referees of a cluster share."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from noughts_referee.arbiter import Answers, Complaint
from noughts_referee.comments import CommentLimits
from noughts_referee.connected_player import ConnectedPlayer, PlayerConnection
from noughts_referee.rules import Choice, Termination
from noughts_referee.stalls import Stalls


class PlayerReferee(Protocol):
    """The interface for connections to players. See `Referee` for the arguments."""

    @property
    def stalls(self) -> Stalls:
        """Stalls of the server, which connections do not count as thinking time."""

    @property
    def comment_limits(self) -> CommentLimits:
        """Limits of the comments that are kept."""

    def player(self, key: int) -> ConnectedPlayer:
        """Return the player with this key, creating it if needed."""

    def release(self, key: int) -> bool:
        """Forget a player, unless it is needed. Return whether it was forgotten."""

    def connect(self, player: ConnectedPlayer, wire: PlayerConnection) -> None:
        """Connect a player, also after a disconnection: send it its running games."""

    def judge_answers(self, player: ConnectedPlayer, answers: Answers) -> list[Complaint]:
        """Judge a player's answers. Return complaints about answers to questions that were never asked."""

    def judge_choices(
        self, player: ConnectedPlayer, choices: Iterable[tuple[int, int, Choice | None, str]], times_us: Sequence[int]
    ) -> list[Complaint]:
        """Judge a player's choices for openings."""

    def end_overdue(self, player: ConnectedPlayer, questions: Iterable[tuple[int, int, int]]) -> None:
        """Report questions (game, ply, microseconds since asked) past their limit."""

    def forfeit(self, player: ConnectedPlayer, termination: Termination, fault: str = "") -> None:
        """End the running games of a player that does not return as lost."""


class RefereeCounts(Protocol):
    """Counters of the games played."""

    @property
    def stalls(self) -> Stalls:
        """Stalls of the server."""

    @property
    def plies(self) -> int:
        """Answers received since the start."""

    @property
    def late_answers(self) -> int:
        """Answers that came too late, since the start."""

    def count_running(self, tournament: int | None = None) -> int:
        """Return the number of running games, of one tournament or all."""

    def count_queued(self) -> int:
        """Return the number of slots that wait to start, of all tournaments."""
