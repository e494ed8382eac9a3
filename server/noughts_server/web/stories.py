"""The story of a finished tournament in sentences, each with the game that it is about."""

from collections import OrderedDict
from typing import NamedTuple

from noughts_proto.v1 import games_pb2
from noughts_server.competition.formats import format_named
from noughts_server.web import words
from noughts_server.web.documents import Document
from noughts_server.web.upstream import Upstream

_MOST_KEPT = 128


class Sentence(NamedTuple):
    """A sentence of a story."""

    title: str
    text: str
    game: Document | None
    """None if the sentence is about no single game."""


class Stories:
    """The stories of finished tournaments. The newest are kept, because a finished tournament does not change."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str, int], list[Sentence]] = OrderedDict()

    async def of(self, upstream: Upstream, tournament: Document, matches: list[Document]) -> list[Sentence]:
        """Return the story; empty if the tournament has none. `matches` are those of a bracket. Raises Failure."""
        if tournament["story"] is None:
            return []
        key = tournament["name"], str(tournament["end_time"]), int(tournament["games_done"])
        if key not in self._kept:
            story = tournament["story"]
            games: dict[int, Document] = {}
            for field in ("upset_game", "lead_game", "decided_game", "longest_game", "shortest_game"):
                number = story[field]
                if number and number not in games:
                    one = games_pb2.ListGamesRequest(parent=tournament["name"], after=number - 1, page_size=1)
                    for game in (await upstream.ask(upstream.games.ListGames, one))["games"]:
                        games[number] = game
            self._kept[key] = sentences(tournament, matches, games)
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return self._kept[key]


def sentences(tournament: Document, matches: list[Document], games: dict[int, Document]) -> list[Sentence]:
    """Return the sentences about a tournament with a story; `games` has the games of the story by their numbers."""
    story = tournament["story"]
    is_bracket = format_named(str(tournament["schedule"])).places_by_bracket
    first = [row["label"] for row in tournament["standings"] if row["rank"] == 1]
    told: list[Sentence | None] = []
    if len(tournament["standings"]) > 2:
        told.append(_upset(story, games, len(first), is_bracket=is_bracket))
    if is_bracket:
        told += [_final(story, matches, games), _extra_games(matches)]
    elif not tournament["sprt"]:
        told += [_lead(story, first, games), _decision(tournament, first, games)]
    told += [_longest(story, games), _shortest(story, games)]
    return [sentence for sentence in told if sentence is not None]


def _upset(story: Document, games: dict[int, Document], winners: int, *, is_bracket: bool) -> Sentence:
    if story["upset_game"] not in games:
        ahead = "seeded" if is_bracket else "placed"
        return Sentence("No upset", f"No bot beat another that was {ahead} more than one place ahead of it.", None)
    better, worse = story["upset_loser_place"], story["upset_winner_place"]
    if is_bracket:
        text = f"{story['upset_winner']}, seeded {place(worse)}, beat {story['upset_loser']}, seeded {place(better)}."
    else:
        role = f"which came {place(better)}" if better > 1 else "the winner" if winners == 1 else "a joint winner"
        text = f"{story['upset_winner']}, {place(worse)} in the end, beat {story['upset_loser']}, {role}."
    return Sentence("Biggest upset", text, games[story["upset_game"]])


def _lead(story: Document, first: list[str], games: dict[int, Document]) -> Sentence:
    changes = story["lead_changes"]
    times = {1: "once", 2: "twice"}.get(changes, f"{changes:,} times")
    game = games.get(story["lead_game"])
    when = f"round {story['lead_round']}" if story["lead_round"] else f"game {story['lead_game']:,}"
    if game is None:
        text = f"The lead changed {times}." if changes else "No bot ever took the lead from another."
    elif changes:
        text = f"The lead changed {times}. {first[0]} was ahead for good from {when} on."
    else:
        text = f"The lead never changed: {first[0]} was ahead from {when} on."
    return Sentence("Lead changes", text, game)


def _decision(tournament: Document, first: list[str], games: dict[int, Document]) -> Sentence | None:
    story, standings = tournament["story"], tournament["standings"]
    if len(first) > 1:
        return Sentence("Not decided", f"{words.and_words(first)} share the first place.", None)
    if game := games.get(story["decided_game"]):
        when = f"in round {story['decided_round']}" if story["decided_round"] else f"in game {story['decided_game']:,}"
        left = tournament["games_done"] - story["decided_game"]
        rest = f", with {left:,} {'game' if left == 1 else 'games'} to go" if left > 0 else ", the last one"
        return Sentence(
            f"Decided {when}", f"After this game{rest}, no other bot could reach the points of {first[0]}.", game
        )
    if len(standings) > 1 and standings[1]["tie_break"]:
        by = words.tie_break(standings[1]["tie_break"])
        text = f"{first[0]} and {standings[1]['label']} have the same points; {first[0]} is first by {by}."
        return Sentence("Decided by a tie-break", text, None)
    return None


def _final(story: Document, matches: list[Document], games: dict[int, Document]) -> Sentence | None:
    final = matches[-1] if matches else None
    game = games.get(story["decided_game"])
    if final is None or game is None or not final["winner"] or not final["second"]:
        return None
    points = [final["first_points"], final["second_points"]]
    names = [final["first"], final["second"]]
    if final["winner"] == names[1]:
        points.reverse()
        names.reverse()
    if points[0] == points[1]:
        text = f"{names[0]} and {names[1]} scored {words.points(points[0])} points each; {names[0]} is first as the "
        text += "higher seed." if final["decision"] == "seed" else "bot with fewer forfeits."
        return Sentence("Decided in the final", text, game)
    score = f"{words.points(points[0])} – {words.points(points[1])}"
    return Sentence("Decided in the final", f"{names[0]} beat {names[1]} by {score}.", game)


def _extra_games(matches: list[Document]) -> Sentence | None:
    played = [match for match in matches if match["games"]]
    extra = sum(match["decision"] in ("extra_pair", "forfeits", "seed") for match in played)
    if not played:
        return None
    if not extra:
        return Sentence("Close matches", "No match needed extra games.", None)
    needed = "match needed" if len(played) == 1 else "matches needed"
    return Sentence("Close matches", f"{extra:,} of {len(played):,} {needed} extra games.", None)


def _longest(story: Document, games: dict[int, Document]) -> Sentence | None:
    game = games.get(story["longest_game"])
    if game is None:
        return None
    moves, first, second = story["longest_moves"], game["first"], game["second"]
    winner = {"1-0": f"{first} won", "0-1": f"{second} won", "1/2-1/2": "a draw"}.get(game["result"], "void")
    return Sentence("Longest game", f"{first} and {second} made {moves:,} moves: {winner}.", game)


def _shortest(story: Document, games: dict[int, Document]) -> Sentence | None:
    game = games.get(story["shortest_game"])
    if game is None:
        return None
    winner, loser = (game["first"], game["second"]) if game["result"] == "1-0" else (game["second"], game["first"])
    return Sentence("Shortest win", f"{winner} beat {loser} in {story['shortest_moves']:,} moves.", game)


def place(number: int) -> str:
    """Return `1st`, `2nd`, `11th` or `23rd`."""
    end = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{end}"
