"""A referee with players whose connections only count wake-ups, so that tests give the answers."""

from collections.abc import Iterable, Sequence

from noughts_referee.arbiter import Answers
from noughts_referee.connected_player import ConnectedPlayer
from noughts_referee.game import Game
from noughts_referee.referee import Referee
from noughts_referee.rules import Termination
from noughts_referee.work_units import FinishedGame


class ScriptedConnection:
    """A connection that counts its wake-ups and has the given capacities."""

    def __init__(self, timed: int, untimed: int) -> None:
        self.capacity_timed = timed
        self.capacity_untimed = untimed
        self.online = True
        self.wakes = 0
        """The number of calls of `wake`."""

    def wake(self) -> None:
        self.wakes += 1


class RefereeDriver:
    """A referee, its players on scripted connections, and the games that it has reported."""

    def __init__(self) -> None:
        self.reports: list[list[FinishedGame]] = []
        self.progress = 0
        """The number of calls of `Referee.on_progress`."""
        self.referee = Referee(self.reports.append, margin_us=0)
        self.referee.on_progress = self._count_progress

    def _count_progress(self) -> None:
        self.progress += 1

    @property
    def finished(self) -> list[FinishedGame]:
        return [game for report in self.reports for game in report]

    def join(self, key: int, timed: int = 1, untimed: int = 1_000) -> ConnectedPlayer:
        player = self.referee.player(key)
        self.referee.connect(player, ScriptedConnection(timed, untimed))
        return player

    def leave(self, key: int) -> None:
        """Disconnect the player. Its games wait for it."""
        wire = self.referee.player(key).wire
        if wire is not None:
            wire.capacity_timed = wire.capacity_untimed = 0  # type: ignore[misc]  # a scripted connection can change
            wire.online = False  # type: ignore[misc]

    def forfeit(self, key: int) -> None:
        self.leave(key)
        self.referee.forfeit(self.referee.player(key), Termination.DISCONNECTED)

    def running(self, *keys: int) -> list[Game]:
        """Return the running games of these players in the order of their starts."""
        games = {handle: game for key in keys for handle, game in self.referee.player(key).games.items()}
        return [games[handle] for handle in sorted(games)]

    def resign(self, games: Iterable[Game]) -> None:
        """Let the side to move resign in each of these games, in one frame for each player."""
        by_mover: dict[int, list[Game]] = {}
        for game in games:
            by_mover.setdefault(game.mover.key, []).append(game)
        for key, batch in by_mover.items():
            self.answer(key, batch, [0] * len(batch), resigned=range(len(batch)))

    def answer(self, key: int, games: Sequence[Game], cells: Sequence[int], resigned: Sequence[int] = ()) -> None:
        """Answer the open question of each of these games at once; `resigned` has the indexes that resign."""
        answers = Answers(
            games=[game.handle for game in games],
            plies=[game.ply for game in games],
            cells=cells,
            times_us=[0] * len(games),
            resigned=resigned,
        )
        complaints = self.referee.judge_answers(self.referee.player(key), answers)
        assert complaints == []
