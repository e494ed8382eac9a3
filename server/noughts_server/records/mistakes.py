"""Mistakes: positions in which a player made the value of a game worse. Users can replay them later."""

from collections.abc import Iterator
from types import NoneType
from typing import Any, NamedTuple

from noughts_referee.rules import Position, PositionError, parse_variant
from noughts_server.records.explaining import VALUES, judge
from noughts_server.tables.recorded_game import RecordedGame


class Mistake(NamedTuple):
    """A position, the move that made its value worse, and the best moves. The move or the best moves can be unknown."""

    position: Position
    move: int | None
    best: tuple[int, ...]
    """Moves that keep the value; empty if none is known, so that any other move is better."""
    game: str = ""
    """The name of the game."""
    ply: int = 0
    """The ply of the move, from 1."""
    before: str = ""
    """The value for the player before the move; see `VALUES`."""
    after: str = ""
    """The value for the player after the move."""

    def document(self) -> dict[str, Any]:
        """Return a line of a file of positions. The cells are numbers."""
        return {
            "variant": self.position.variant.name,
            "position": str(self.position),
            "best": list(self.best),
            "move": self.move,
            "before": self.before,
            "after": self.after,
            "game": self.game,
            "ply": self.ply,
        }

    def is_repeated_by(self, move: int) -> bool:
        """Return whether the move makes the same or another mistake."""
        return move not in self.best if self.best else move == self.move


def mistakes_in(game: RecordedGame, sides: set[int], name: str) -> Iterator[Mistake]:
    """Yield the mistakes of these sides in a game. Raises RecordError for an invalid game."""
    variant, _, turns = judge(game)
    for ply, before, after, _ in turns:
        if ply % 2 in sides:
            yield Mistake(
                position=Position.after(variant, game.moves[:ply]),
                move=game.moves[ply],
                best=before.best,
                game=name,
                ply=ply + 1,
                before=VALUES[before.result],
                after=VALUES[None if after.result is None else -after.result],
            )


def read_mistake(document: dict[str, Any]) -> Mistake:
    """Read a line of a file of positions. Raises PositionError, ValueError with the reason, VariantError."""
    variant = document.get("variant")
    text = document.get("position")
    if not isinstance(variant, str) or not isinstance(text, str):
        raise ValueError('got no texts "variant" and "position"')
    position = Position.parse(parse_variant(variant), text)
    move, best = document.get("move"), document.get("best", [])
    if type(move) not in (int, NoneType) or not isinstance(best, list) or any(type(cell) is not int for cell in best):
        raise ValueError('got no number "move" and list of numbers "best"')
    if not best and move not in position.free:
        raise ValueError('got neither a "move" to avoid nor "best" moves')
    if position.outcome() is not None:
        raise PositionError(text, "a game that is not over")
    if not set(best) <= set(position.free):
        raise ValueError('got "best" moves that are no free cells of the position')
    return Mistake(position, move, tuple(best))
