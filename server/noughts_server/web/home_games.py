"""The games that the home page shows: the featured game, the small games next to it, and the games of the day.

Games are documents with `state`. Live games come from the feed; they can have ended a moment ago.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from noughts_proto.v1 import tournaments_pb2
from noughts_referee.rules import VariantError, parse_variant
from noughts_server.core.messages import N_, _, ngettext, number_text
from noughts_server.web.documents import Document

_SMALL_GAMES = 3
_SMALL_BOARD = 27
"""Cells; a board with more is large enough for the place of the featured game."""
_UPSET = 100
"""The difference of ratings from which a win of the lower rated player is an upset."""
_CLOSE = 0.1
"""The share of base time below which a clock was close."""
_DAY = timedelta(hours=24)

Players = Mapping[str, Mapping[str, tournaments_pb2.Standing]]
"""The rows of standings by tournament and label."""


@dataclass(frozen=True, slots=True)
class FeaturedGame:
    """The game on the large board."""

    game: Document
    is_live: bool
    """Whether the game comes from the feed, which also has games that ended a moment ago."""

    @property
    def has_small_board(self) -> bool:
        """Whether the board looks too large if it fills the place."""
        return has_small_board(self.game)


@dataclass(frozen=True, slots=True)
class Length:
    """A number of moves; as a text in the active language, e.g. `31 moves`."""

    moves: int

    def __str__(self) -> str:
        return ngettext("%(moves)s move", "%(moves)s moves", self.moves, moves=number_text(self.moves))


@dataclass(frozen=True, slots=True)
class Ratings:
    """The ratings of both players; as a text in the active language, e.g. `ratings 1450 against 1710`."""

    winner: float
    loser: float

    def __str__(self) -> str:
        return _("ratings %(first)s against %(second)s", first=f"{self.winner:.0f}", second=f"{self.loser:.0f}")


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """A share of the base time; as a text in the active language, e.g. `3% of the time left`."""

    share: float

    def __str__(self) -> str:
        return _("%(percent)s%% of the time left", percent=f"{100 * self.share:.0f}")


@dataclass(frozen=True, slots=True)
class GameOfTheDay:
    """A game with a title. The texts are in English; the page translates them."""

    title: str
    game: Document
    detail: Length | Ratings | TimeLeft
    hint: str = ""
    """How the game was chosen, if its title does not say it."""


def featured_game(live: Sequence[Document], ended: Sequence[Document], players: Players) -> FeaturedGame | None:
    """Return a live game, else the longest of those that have ended; None without any game.

    A game that is played precedes one that has just ended, one with clocks precedes one without, and a large board
    precedes a small one. Among equals the ratings of both players decide.
    """

    def preference(game: Document) -> tuple[bool, bool, bool, float]:
        ratings = (rating_of(players, game, "first"), rating_of(players, game, "second"))
        is_played, has_clocks = game["state"] != "ended", game["first_clock_us"] is not None
        return is_played, has_clocks, not has_small_board(game), sum(rating or 0 for rating in ratings)

    if live:
        return FeaturedGame(max(live, key=preference), is_live=True)
    longest = longest_game(ended)
    return FeaturedGame(longest, is_live=False) if longest else None


def has_small_board(game: Document) -> bool:
    """Return whether a board has few cells, as those of noughts and crosses in two and three dimensions."""
    try:
        return parse_variant(game["variant"]).cells <= _SMALL_BOARD
    except VariantError:
        return False  # a variant of a plugin that is not installed here


def small_games(
    live: Sequence[Document],
    ended: Sequence[Document],
    featured: FeaturedGame | None,
    of_the_day: Sequence[GameOfTheDay],
) -> list[Document]:
    """Return other live games; if they are fewer than the places, the games that ended last fill these."""
    on_large_board = [featured.game] if featured else []
    others = _without(live, on_large_board)
    new = _without(ended, [*others, *on_large_board, *(each.game for each in of_the_day)])
    return [*others, *sorted(new, key=lambda game: str(game["end_time"]), reverse=True)][:_SMALL_GAMES]


def of_different_games(tournaments: Sequence[Document], most: int) -> list[Document]:
    """Return the first tournament of each variant, and then the others, at most `most`."""
    variants: set[str] = set()
    first: list[Document] = []
    others: list[Document] = []
    for tournament in tournaments:
        (others if tournament["variant"] in variants else first).append(tournament)
        variants.add(tournament["variant"])
    return [*first, *others][:most]


def games_of_the_day(games: Sequence[Document], players: Players) -> list[GameOfTheDay]:
    """Return the best of the games that ended in the 24 hours before the end of the last one.

    A game that deserves several titles has the first of them.
    """
    games = of_last_day(games)
    found: list[GameOfTheDay] = []
    if longest := longest_game(games):
        found.append(GameOfTheDay(N_("Longest game"), longest, _length(longest)))
    if (upset := biggest_upset(games, players)) and (ratings := ratings_in_upset(upset, players)):
        found.append(GameOfTheDay(N_("Biggest upset"), upset, ratings))
    if quickest := quickest_win(games):
        hint = N_("Compared with the shortest possible win of each game")
        found.append(GameOfTheDay(N_("Quickest win"), quickest, _length(quickest), hint))
    if closest := closest_clock(games):
        found.append(GameOfTheDay(N_("Closest clock"), closest, TimeLeft(least_share_left(closest) or 0)))
    names = [each.game["name"] for each in found]
    return [each for at, each in enumerate(found) if each.game["name"] not in names[:at]]


def of_last_day(games: Sequence[Document]) -> list[Document]:
    """Return the games that ended in the 24 hours before the end of the last one."""
    ends = {game["name"]: datetime.fromisoformat(game["end_time"]) for game in games}
    return [game for game in games if ends[game["name"]] > max(ends.values()) - _DAY]


def without_featured(of_the_day: Sequence[GameOfTheDay], featured: FeaturedGame | None) -> list[GameOfTheDay]:
    """Return the games of the day except the one on the large board."""
    return [each for each in of_the_day if featured is None or each.game["name"] != featured.game["name"]]


def longest_game(games: Sequence[Document]) -> Document | None:
    """Return the game with the most moves."""
    return max(games, key=lambda game: len(game["moves"]), default=None)


def quickest_win(games: Sequence[Document]) -> Document | None:
    """Return the game that was won on the board in the fewest moves, compared with the shortest possible win.

    So games with longer lines, which need more moves, have the same chance. Of equals, it is the one with more moves.
    """

    def preference(game: Document) -> tuple[float, int]:
        return len(game["moves"]) / shortest_win(game["variant"]), -len(game["moves"])

    won = [game for game in games if game["termination"] == "line" and shortest_win(game["variant"])]
    return min(won, key=preference, default=None)


def shortest_win(variant: str) -> int:
    """Return the moves of the shortest possible win; 0 for a variant of a plugin that is not installed here."""
    try:
        return parse_variant(variant).shortest_win
    except VariantError:
        return 0


def biggest_upset(games: Sequence[Document], players: Players) -> Document | None:
    """Return the game whose winner is rated lowest compared with the loser; None without an upset."""
    upsets = {game["name"]: ratings for game in games if (ratings := ratings_in_upset(game, players))}
    candidates = [game for game in games if game["name"] in upsets]

    def difference(game: Document) -> float:
        return upsets[game["name"]].loser - upsets[game["name"]].winner

    return max(candidates, key=difference, default=None)


def ratings_in_upset(game: Document, players: Players) -> Ratings | None:
    """Return the ratings of both players if the one that is rated 100 or more lower won; else None."""
    first, second = rating_of(players, game, "first"), rating_of(players, game, "second")
    if first is None or second is None:
        return None
    by_result = {"1-0": Ratings(winner=first, loser=second), "0-1": Ratings(winner=second, loser=first)}
    ratings = by_result.get(game["result"])
    return ratings if ratings and ratings.loser - ratings.winner >= _UPSET else None


def rating_of(players: Players, game: Document, side: str) -> float | None:
    """Return the rating of a player in the standings; None without one."""
    row = players[tournament_of(game)].get(game[side])
    return row.rating if row is not None and row.HasField("rating") else None


def closest_clock(games: Sequence[Document]) -> Document | None:
    """Return the game, won on the board, in which a side had the smallest share of its base time left at the end.

    Return None if no clock was close.
    """
    shares = {game["name"]: share for game in games if (share := least_share_left(game)) is not None and share < _CLOSE}
    return min((game for game in games if game["name"] in shares), key=lambda game: shares[game["name"]], default=None)


def least_share_left(game: Document) -> float | None:
    """Return the smaller share of base time that a side had left at the end; None without base time.

    With time added for each move, a share can be larger than 1.
    """
    if game["termination"] != "line":
        return None
    shares = []
    opening, factor = game["opening_plies"], game["time_factor"] or 1
    for side, time in enumerate((game["first_time"], game["second_time"])):
        if time and time["bank_us"]:
            # The moves of the opening cost no time. The sides take turns from the first move of the opening.
            times = game["times_us"][opening + (side + opening) % 2 :: 2]
            base, increment = factor * time["bank_us"], factor * time["increment_us"]
            shares.append((base + increment * len(times) - sum(times)) / base)
    return min(shares, default=None)


def tournament_of(game: Document) -> str:
    """Return the name of a game's tournament."""
    return str(game["name"]).partition("/games/")[0]


def _length(game: Document) -> Length:
    return Length(len(game["moves"]))


def _without(games: Sequence[Document], others: Sequence[Document]) -> list[Document]:
    """Return the games that are not among the others."""
    names = {game["name"] for game in others}
    return [game for game in games if game["name"] not in names]
