"""The score of a set of games: wins, draws and losses."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Score:
    """Wins, draws and losses from one side's point of view. Void games do not count."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    def __add__(self, other: "Score") -> "Score":
        return Score(self.wins + other.wins, self.draws + other.draws, self.losses + other.losses)

    @property
    def counts(self) -> tuple[int, int, int]:
        return self.wins, self.draws, self.losses

    @property
    def mirrored(self) -> "Score":
        """Return the same games from the other side's point of view."""
        return Score(self.losses, self.draws, self.wins)

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> float:
        """Return the points: 1 for a win, 1/2 for a draw."""
        return self.wins + self.draws / 2

    def document(self) -> dict[str, int]:
        return asdict(self)
