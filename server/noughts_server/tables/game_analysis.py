"""The analysis of a game: the values of its positions, the moves that made them worse, and both sides' accuracy."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from noughts_bots.reference.accuracy import EFFORT_OF_GAME, Accuracy, Judge
from noughts_bots.reference.analysis import Analyst, Turn
from noughts_bots.reference.exact import Verdict
from noughts_bots.reference.threats.effort import Effort
from noughts_referee.rules import Variant

_EFFORT = 500_000
"""Limit of the exact search of a position, see `Analyst`."""
_NODES = 10_000
"""Limits of the searches; see `Analyst`."""


class GameAnalysis(NamedTuple):
    """What is known about the moves of a game."""

    verdicts: Mapping[int, Verdict]
    """The known values by ply, from 0, each for the side to move. They have no best moves."""
    turns: Sequence[Turn]
    """The moves that made the value worse for their player."""
    accuracies: tuple[Accuracy, Accuracy]

    def document(self) -> dict[str, Any]:
        """Return the analysis as a short document for the store; `read_analysis` reads it."""
        return {
            "values": [[ply, verdict.result, verdict.plies, verdict.exact] for ply, verdict in self.verdicts.items()],
            "turns": [[turn.ply, turn.before.best, turn.line] for turn in self.turns],
            "accuracies": self.accuracies,
        }


def read_analysis(document: Any) -> GameAnalysis:
    """Return the analysis from its document. Raises KeyError, TypeError, ValueError."""
    verdicts = {int(ply): Verdict(result, plies, (), exact=exact) for ply, result, plies, exact in document["values"]}
    turns = [
        Turn(ply, verdicts[ply]._replace(best=tuple(better)), verdicts[ply + 1], tuple(line))
        for ply, better, line in document["turns"]
    ]
    first, second = (Accuracy(*counts) for counts in document["accuracies"])
    return GameAnalysis(verdicts, turns, (first, second))


def judged(
    variant: Variant,
    moves: Sequence[int],
    first: int,
    show: Callable[[int, int], object] = lambda done, total: None,
) -> tuple[dict[int, Verdict], list[Turn]]:
    """Return the known values by ply, and the moves from ply `first` on that made them worse.

    Args:
        show: called with the number of judged positions and the number of all positions.
    """
    analyst = Analyst(variant, effort=_EFFORT, nodes=_NODES)
    verdicts = analyst.verdicts(moves, first, show)
    return verdicts, analyst.turns(moves, verdicts)


def analysed(variant: Variant, moves: Sequence[int], first: int, *, counts: bool) -> GameAnalysis:
    """Return the analysis of the moves from ply `first` on.

    `counts` is whether the game counts for the players' accuracy, as games that are not void do.
    """
    verdicts, turns = judged(variant, moves, first)
    accuracies = Accuracy(), Accuracy()
    if counts:
        accuracies = Judge(variant).judge(moves, first, Effort(EFFORT_OF_GAME))
    return GameAnalysis(dict(sorted(verdicts.items())), turns, accuracies)


def mark_of(turn: Turn) -> str:
    """Return `??` for a move that turned a win into a loss, and `?` for other moves that made the value worse."""
    return "??" if turn.before.result == 1 and turn.after.result == 1 else "?"
