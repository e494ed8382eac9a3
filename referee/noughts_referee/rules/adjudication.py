"""Adjudication: the rules by which the referee ends games that are decided before their last move. Pure.

A side loses if it has reported a lost position often enough (`--resign`). A game is a draw if both sides have reported
equal positions for long enough (`--draw`) or if it is too long (`--draw-after`). A game whose value a solver has proven
ends with that value (`--adjudicate exact`); `Proofs` of the referee supply the values.

The rules on scores are those of managers of chess engines. Only scores as they are stored count, so that a resumed game
ends at the same move.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from noughts_referee.rules.invalid import InvalidInput
from noughts_referee.rules.outcome import Outcome, Result, Termination, lost, won

EXACT = "exact"
"""The only value of `--adjudicate`."""
_MOST_MOVES = 10_000
_LATEST_PLY = 100_000
_LARGEST_SCORE = 1_000_000_000
_SCORE = re.compile(r"[0-9]{1,10}(?:\.[0-9]{1,6})?")
_DRAW = Outcome(Result.DRAW, Termination.ADJUDICATED)
_NEVER = 1 << 62
"""A ply that no game reaches."""

Scores = Mapping[int, float]
"""The movers' scores by ply, from the movers' points of view. Plies without a score are missing."""


@dataclass(frozen=True, slots=True)
class ResignRule:
    """The mover loses if its last scores are all low enough, and with `twosided` its opponent's all high enough."""

    moves: int
    score: float
    twosided: bool = False

    form = "moves=N,score=S[,twosided]"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the rule of `moves=N,score=S[,twosided]`. Raises InvalidInput."""
        values = _values(text, cls.form, flags=("twosided",))
        score = _score(values["score"])
        if not score:
            raise InvalidInput("the score 0", "a score above 0: a side loses at the negative of it")
        return cls(moves=_count("moves", values["moves"], _MOST_MOVES), score=score, twosided="twosided" in values)

    def is_met(self, scores: Scores, ply: int) -> bool:
        """Return whether the side that made the last of `ply` moves loses."""
        if not all(score <= -self.score for score in _last_scores(scores, ply - 1, self.moves)):
            return False
        return not self.twosided or all(score >= self.score for score in _last_scores(scores, ply - 2, self.moves))

    def reason(self, loser: str, winner: str) -> str:
        at_moves = "at its last move" if self.moves == 1 else f"at its last {self.moves:,} moves"
        agreed = f", and {winner} {_shown(self.score)} or more" if self.twosided else ""
        return f"{loser} reported {_shown(-self.score)} or less {at_moves}{agreed}"


@dataclass(frozen=True, slots=True)
class DrawRule:
    """A game is a draw if the last scores of both sides are all close to 0, from some ply on."""

    moves: int
    score: float
    after: int = 0

    form = "moves=N,score=S[,after=P]"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the rule of `moves=N,score=S[,after=P]`. Raises InvalidInput."""
        values = _values(text, cls.form, options=("after",))
        moves = _count("moves", values["moves"], _MOST_MOVES)
        after = _count("plies", values["after"], _LATEST_PLY) if "after" in values else 0
        return cls(moves=moves, score=_score(values["score"]), after=after)

    def is_met(self, scores: Scores, ply: int) -> bool:
        """Return whether a game of `ply` moves is a draw."""
        sides = (_last_scores(scores, last, self.moves) for last in (ply - 1, ply - 2))
        return ply >= self.after and all(abs(score) <= self.score for side in sides for score in side)

    def reason(self) -> str:
        at_moves = "the last move" if self.moves == 1 else f"the last {self.moves:,} moves"
        return f"both reported {_shown(-self.score)} to {_shown(self.score)} at {at_moves} of each"


@dataclass(frozen=True, slots=True)
class Adjudication:
    """All rules of a tournament by which games end early. The default ends none."""

    resign: ResignRule | None = None
    draw: DrawRule | None = None
    draw_after: int = 0
    """A game with this many plies is a draw. 0: no limit."""
    exact: bool = False
    """Whether a game ends if a solver has proven the value of its position."""

    @property
    def by_scores(self) -> bool:
        """Return whether it needs the scores of bots."""
        return self.resign is not None or self.draw is not None

    @property
    def first_ply(self) -> int:
        """Return the ply from which a game can end."""
        if self.by_scores or self.exact:
            return 1
        return self.draw_after or _NEVER

    def outcome(self, scores: Scores | None, ply: int) -> Outcome | None:
        """Return the outcome of a game of `ply` moves that the board has not decided; None if it continues.

        Resignations come first, then draws by scores, then draws by length. Proofs are not considered.
        """
        if self.resign is not None and self.resign.is_met(scores or {}, ply):
            last_mover = (ply - 1) % 2
            return lost(last_mover, Termination.ADJUDICATED)
        if self.draw is not None and self.draw.is_met(scores or {}, ply):
            return _DRAW
        return _DRAW if ply >= self.draw_after > 0 else None

    def reason(self, result: Result, scores: Scores, ply: int, labels: Sequence[str]) -> str:
        """Return why a game of `ply` moves was adjudicated, as a clause without a full stop; empty if it is unknown.

        It follows from the rules and the stored scores, so it is not stored. `labels` are those of both sides.
        """
        outcome = self.outcome(scores, ply)
        if outcome is None or outcome.result is not result:
            return self._proof(result, labels)
        if outcome.loser is not None and self.resign is not None:
            return self.resign.reason(labels[outcome.loser], labels[1 - outcome.loser])
        if self.draw is not None and self.draw.is_met(scores, ply):
            return self.draw.reason()
        return f"it had {ply:,} moves"

    def _proof(self, result: Result, labels: Sequence[str]) -> str:
        if not self.exact:
            return ""
        return "proven a draw" if result.winner is None else f"proven that {labels[result.winner]} wins"


NO_ADJUDICATION = Adjudication()


def proven_outcome(value: int, side: int) -> Outcome:
    """Return the outcome of a game whose value for the side to move is proven: 1 win, 0 draw, -1 loss."""
    if value == 0:
        return _DRAW
    return won(side if value > 0 else 1 - side, Termination.ADJUDICATED)


def _last_scores(scores: Scores, last: int, moves: int) -> Iterator[float]:
    """Yield the scores of a side's moves down from the ply `last`; NaN, which meets no condition, for a missing one."""
    for ply in range(last, last - 2 * moves, -2):
        yield scores.get(ply, math.nan)


def _values(text: str, form: str, *, options: tuple[str, ...] = (), flags: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the values of `moves=N,score=S` with these options and flags, by name. Raises InvalidInput."""
    required = ("moves", "score")
    values: dict[str, str] = {}
    for part in text.split(","):
        name, has_value, value = part.partition("=")
        is_known = name in (*required, *options) if has_value else name in flags
        if not is_known or name in values:
            raise InvalidInput(repr(part), form)
        values[name] = value
    if missing := next((name for name in required if name not in values), ""):
        raise InvalidInput(f"no {missing}", form)
    return values


def _count(what: str, text: str, most: int) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(most)) and 1 <= int(text) <= most):
        raise InvalidInput(f"{text!r} {what}", f"1 to {most:,}")
    return int(text)


def _score(text: str) -> float:
    if not _SCORE.fullmatch(text) or float(text) > _LARGEST_SCORE:
        raise InvalidInput(f"the score {text!r}", f"a number from 0 to {_LARGEST_SCORE:,}")
    return float(text)


def _shown(score: float) -> str:
    return f"{score:,.0f}" if score == int(score) else f"{score:g}"
