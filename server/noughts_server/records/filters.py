"""The filter of `noughts records list`, which selects games in a file."""

from dataclasses import dataclass

from noughts_referee.rules import Termination, VariantError, canonical_name, parse_variant
from noughts_server.openings.legality import OpeningError
from noughts_server.openings.reading import read_opening
from noughts_server.records.recorded_game import RecordError, variant_of
from noughts_server.tables.recorded_game import RESULTS, RecordedGame

_POINTS_OF_RESULT = {"won": 1.0, "drawn": 0.5, "lost": 0.0, "win": 1.0, "draw": 0.5, "loss": 0.0}
"""Points of the bot by the word for its result; commands for games on a server use the last three words."""


@dataclass(slots=True)
class RecordFilter:
    """A filter whose conditions must all hold; None means no condition.

    Raises ValueError for a condition that no game can meet, and for `opponent` without `bot`.
    """

    bot: str | None = None
    opponent: str | None = None
    variant: str | None = None
    result: str | None = None
    termination: str | None = None
    opening: str | None = None

    def __post_init__(self) -> None:
        if self.opponent is not None and self.bot is None:
            raise ValueError(f"--opponent {self.opponent}: requires --bot, the other bot")
        if self.result not in (None, *RESULTS, *(_POINTS_OF_RESULT if self.bot is not None else ())):
            words = f", or with --bot {', '.join(_POINTS_OF_RESULT)}"
            raise ValueError(f"--result {self.result!r}: expected {', '.join(RESULTS)}{words}")
        terminations = [str(termination) for termination in Termination]
        if self.termination not in (None, *terminations):
            raise ValueError(f"--termination {self.termination!r}: expected {', '.join(terminations)}")
        first_character = (self.opening or "")[:1]
        if self.variant is None and first_character not in "[{" and not first_character.isalpha():
            raise ValueError(f"--opening {self.opening!r}: expected cells as in `h8i9` or `[112, 98]`")
        if self.variant is not None:
            try:
                self.variant = canonical_name(self.variant)
            except VariantError as error:
                raise ValueError(f"--variant {error.got!r}: expected {error.expected}") from error
            if self.opening is not None:
                try:
                    read_opening(self.opening, parse_variant(self.variant))
                except OpeningError as error:
                    raise ValueError(
                        f"--opening {self.opening!r}: got {error.got}, expected {error.expected}"
                    ) from error

    def __call__(self, game: RecordedGame) -> bool:
        names = (game.first, game.second)
        return (
            (self.bot is None or self.bot in names)
            and (self.opponent is None or {self.bot, self.opponent} == set(names))
            and self.variant in (None, game.variant)
            and self.termination in (None, game.termination)
            and (self.result is None or self._has_result(game))
            and (self.opening is None or self._has_opening(game))
        )

    def _has_result(self, game: RecordedGame) -> bool:
        if self.result in RESULTS:
            return game.result == self.result
        if (score := game.score) is None:
            return False
        points = _POINTS_OF_RESULT[self.result or ""]
        # A bot that plays itself has both sides.
        return (self.bot == game.first and score == points) or (self.bot == game.second and 1 - score == points)

    def _has_opening(self, game: RecordedGame) -> bool:
        try:
            cells = read_opening(self.opening or "", variant_of(game.variant))
        except (OpeningError, RecordError):
            return False
        return game.moves[: len(cells)] == cells
