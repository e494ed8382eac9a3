"""What the page of a knockout says about its entries: their seeds, and the rounds that they reached."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from noughts_server.competition.formats.knockout import seed_places
from noughts_server.web.documents import Document
from noughts_server.web.running_stages import Round

_WITH_NAMES = 3
"""The last rounds, which have names: quarterfinals, semifinals and final."""


@dataclass(frozen=True, slots=True)
class Reached:
    """How far an entry is in a bracket."""

    round: Round
    """The last round that it reached."""
    is_out: bool
    """Whether it lost there."""
    has_won: bool
    """Whether it won the final."""


def with_extra_games(matches: Sequence[Document], games_per_pair: int) -> list[Document]:
    """Return the matches with `extra`: whether games after equal points are played or scheduled."""
    return [{**match, "extra": match["games"] + match["games_left"] > games_per_pair} for match in matches]


def without_stopped(matches: Sequence[Document], stopped_games: Sequence[Document]) -> list[Document]:
    """Return the matches of a cancelled knockout as far as they were played: without the games that were stopped.

    `stopped` is the number of these games. A match with such games has no winner, and no entry of it advanced.
    """
    stopped: dict[tuple[int, frozenset[str]], list[Document]] = {}
    for game in stopped_games:
        stopped.setdefault((game["round"], frozenset((game["first"], game["second"]))), []).append(game)
    reached_later: set[tuple[int, str]] = set()
    found = []
    for match in matches:
        labels = (match["first"], match["second"])
        games = stopped.get((match["round"], frozenset(labels)), [])
        if games:
            reached_later |= {(match["round"] + 1, label) for label in labels}
        first, second = ("" if (match["round"], label) in reached_later else label for label in labels)
        found.append(
            {
                **match,
                "first": first,
                "second": second,
                "winner": "" if games else match["winner"],
                "first_points": match["first_points"] - sum(_winner(game) == match["first"] for game in games),
                "second_points": match["second_points"] - sum(_winner(game) == match["second"] for game in games),
                "games": match["games"] - len(games),
                "stopped": len(games),
            }
        )
    return found


def _winner(game: Document) -> str | None:
    """Return the label of the entry that won the game; None without a winner."""
    winner: str | None = {"1-0": game["first"], "0-1": game["second"]}.get(game["result"])
    return winner


def losers(games: Sequence[Document]) -> list[str]:
    """Return the labels of the entries that lost one of the games."""
    lost = {game["second"] if _winner(game) == game["first"] else game["first"] for game in games if _winner(game)}
    return sorted(lost)


def names_of_rounds(rounds: Sequence[Sequence[Document]]) -> list[Round]:
    """Return the rounds, whose texts are their names, e.g. `Round 1` or `Semifinals`."""
    last = len(rounds)
    return [
        Round(number, last, is_knockout=True) if last - number < _WITH_NAMES else Round(number)
        for number in range(1, last + 1)
    ]


def seeds(rounds: Sequence[Sequence[Document]]) -> dict[str, int]:
    """Return the seeds of the entries by label, from 1; empty if there is no bracket."""
    if not rounds:
        return {}
    places = seed_places(len(rounds))
    seed_of: dict[str, int] = {}
    for match, one, other in zip(rounds[0], places[::2], places[1::2], strict=True):
        if match["second"]:
            seed_of |= {match["first"]: one + 1, match["second"]: other + 1}
        else:
            # Only the best seeds have byes.
            seed_of[match["first"]] = min(one, other) + 1
    return seed_of


def better_seeds_first(rounds: Sequence[Sequence[Document]], seed_of: Mapping[str, int]) -> list[list[Document]]:
    """Return the rounds with the better seed of each match of the first round on top.

    In later rounds, the winner of the upper match stays on top.
    """
    first_round = [_with_better_seed_first(match, seed_of) for match in next(iter(rounds), [])]
    return [first_round, *(list(matches) for matches in rounds[1:])] if rounds else []


def _with_better_seed_first(match: Document, seed_of: Mapping[str, int]) -> Document:
    if not match["second"] or seed_of[match["first"]] < seed_of[match["second"]]:
        return match
    return {
        **match,
        "first": match["second"],
        "second": match["first"],
        "first_points": match["second_points"],
        "second_points": match["first_points"],
    }


def reached(rounds: Sequence[Sequence[Document]]) -> dict[str, Reached]:
    """Return how far each entry of a bracket is, by label."""
    names = names_of_rounds(rounds)
    found: dict[str, Reached] = {}
    for name, matches in zip(names, rounds, strict=True):
        for match in matches:
            for label in filter(None, (match["first"], match["second"])):
                found[label] = Reached(
                    round=name,
                    is_out=bool(match["winner"]) and match["winner"] != label,
                    has_won=match["winner"] == label and name.number == len(rounds),
                )
    return found
