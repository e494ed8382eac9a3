"""The story of a finished tournament in sentences, each with the game that it is about."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import NamedTuple

from noughts_proto.v1 import games_pb2
from noughts_server.competition.formats import format_named
from noughts_server.core.messages import Language, _, in_language, ngettext, number_text
from noughts_server.web import words
from noughts_server.web.documents import Document, renamed
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
        self._kept: OrderedDict[tuple[str, str, int, str], list[Sentence]] = OrderedDict()

    async def of(
        self,
        upstream: Upstream,
        tournament: Document,
        matches: list[Document],
        language: Language,
        names: Mapping[str, str],
    ) -> list[Sentence]:
        """Return the story; empty if the tournament has none. Raises Failure.

        `matches` are those of a bracket. `names` are the shown names of entries whose labels are not shown.
        """
        if tournament["story"] is None:
            return []
        key = tournament["name"], str(tournament["end_time"]), int(tournament["games_done"]), language.code
        if key not in self._kept:
            story = tournament["story"]
            games: dict[int, Document] = {}
            for field in ("upset_game", "lead_game", "decided_game", "longest_game", "shortest_game"):
                number = story[field]
                if number and number not in games:
                    one = games_pb2.ListGamesRequest(parent=tournament["name"], after=number - 1, page_size=1)
                    for game in (await upstream.ask(upstream.games.ListGames, one))["games"]:
                        games[number] = renamed(game, names)
            with in_language(language):
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
    finalists = {matches[-1]["first"], matches[-1]["second"]} if is_bracket and matches else set()
    # If the upset was the final, the sentence about the final has it.
    if len(tournament["standings"]) > 2 and {story["upset_winner"], story["upset_loser"]} != finalists:
        told.append(_upset(story, games, len(first), is_bracket=is_bracket))
    if is_bracket:
        told.append(_final(story, matches, games))
    elif not tournament["sprt"]:
        told += [_lead(story, first, games), _decision(tournament, first, games)]
    told += [_longest(story, games), _shortest(story, games)]
    return [sentence for sentence in told if sentence is not None]


def _upset(story: Document, games: dict[int, Document], winners: int, *, is_bracket: bool) -> Sentence | None:
    if story["upset_game"] not in games:
        return None
    better, worse = story["upset_loser_place"], story["upset_winner_place"]
    values = {
        "winner": story["upset_winner"],
        "loser": story["upset_loser"],
        "worse": place(worse),
        "better": place(better),
    }
    if is_bracket:
        text = _("%(winner)s, seeded %(worse)s, beat %(loser)s, seeded %(better)s.", **values)
    elif better > 1:
        text = _("%(winner)s, %(worse)s in the end, beat %(loser)s, which came %(better)s.", **values)
    elif winners == 1:
        text = _("%(winner)s, %(worse)s in the end, beat %(loser)s, the winner.", **values)
    else:
        text = _("%(winner)s, %(worse)s in the end, beat %(loser)s, a joint winner.", **values)
    return Sentence(_("Biggest upset"), text, games[story["upset_game"]])


def _lead(story: Document, first: list[str], games: dict[int, Document]) -> Sentence:
    changes = story["lead_changes"]
    game = games.get(story["lead_game"])
    changed = {1: _("The lead changed once."), 2: _("The lead changed twice.")}.get(
        changes, ngettext("The lead changed %(num)s time.", "The lead changed %(num)s times.", changes)
    )
    values = {
        "leader": first[0] if first else "",
        "round": story["lead_round"],
        "game": number_text(story["lead_game"]),
    }
    if game is None:
        text = changed if changes else _("No bot ever took the lead from another.")
    elif changes and story["lead_round"]:
        text = changed + " " + _("%(leader)s was ahead for good from round %(round)s on.", **values)
    elif changes:
        text = changed + " " + _("%(leader)s was ahead for good from game %(game)s on.", **values)
    elif story["lead_round"]:
        text = _("The lead never changed: %(leader)s was ahead from round %(round)s on.", **values)
    else:
        text = _("The lead never changed: %(leader)s was ahead from game %(game)s on.", **values)
    return Sentence(_("The lead"), text, game if changes else None)


def _decision(tournament: Document, first: list[str], games: dict[int, Document]) -> Sentence | None:
    story, standings = tournament["story"], tournament["standings"]
    if len(first) > 1:
        return None  # the line of the winners says so
    if game := games.get(story["decided_game"]):
        title = (
            _("Decided in round %(round)s", round=story["decided_round"])
            if story["decided_round"]
            else _("Decided in game %(game)s", game=number_text(story["decided_game"]))
        )
        left = tournament["games_done"] - story["decided_game"]
        text = (
            ngettext(
                "After this game, with %(num)s game to go, no other bot could reach the points of %(winner)s.",
                "After this game, with %(num)s games to go, no other bot could reach the points of %(winner)s.",
                left,
                winner=first[0],
            )
            if left > 0
            else _("After this game, the last one, no other bot could reach the points of %(winner)s.", winner=first[0])
        )
        return Sentence(title, text, game)
    if len(standings) > 1 and standings[1]["tie_break"]:
        text = _(
            "%(first)s and %(second)s have the same points; %(first)s is first by %(tie_break)s.",
            first=first[0],
            second=standings[1]["label"],
            tie_break=words.tie_break(standings[1]["tie_break"]),
        )
        return Sentence(_("Decided by a tie-break"), text, None)
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
    values = {"winner": names[0], "loser": names[1], "points": words.points(points[0])}
    if points[0] != points[1]:
        score = f"{words.points(points[0])}–\N{WORD JOINER}{words.points(points[1])}"
        text = _("%(winner)s beat %(loser)s by %(score)s.", **values, score=score)
    elif final["decision"] == "seed":
        text = _(
            "%(winner)s and %(loser)s scored %(points)s points each; %(winner)s is first as the higher seed.", **values
        )
    else:
        text = _(
            "%(winner)s and %(loser)s scored %(points)s points each;"
            " %(winner)s is first as the bot with fewer forfeits.",
            **values,
        )
    return Sentence(_("Decided in the final"), text, game)


def _longest(story: Document, games: dict[int, Document]) -> Sentence | None:
    game = games.get(story["longest_game"])
    if game is None:
        return None
    winner = {"1-0": game["first"], "0-1": game["second"]}.get(game["result"])
    values = {"first": game["first"], "second": game["second"], "winner": winner}
    moves = story["longest_moves"]
    if winner:
        text = ngettext(
            "%(first)s and %(second)s made %(num)s move: %(winner)s won.",
            "%(first)s and %(second)s made %(num)s moves: %(winner)s won.",
            moves,
            **values,
        )
    elif game["result"] == "1/2-1/2":
        text = ngettext(
            "%(first)s and %(second)s made %(num)s move: a draw.",
            "%(first)s and %(second)s made %(num)s moves: a draw.",
            moves,
            **values,
        )
    else:
        text = ngettext(
            "%(first)s and %(second)s made %(num)s move: void.",
            "%(first)s and %(second)s made %(num)s moves: void.",
            moves,
            **values,
        )
    return Sentence(_("Longest game"), text, game)


def _shortest(story: Document, games: dict[int, Document]) -> Sentence | None:
    game = games.get(story["shortest_game"])
    if game is None:
        return None
    winner, loser = (game["first"], game["second"]) if game["result"] == "1-0" else (game["second"], game["first"])
    text = ngettext(
        "%(winner)s beat %(loser)s in %(num)s move.",
        "%(winner)s beat %(loser)s in %(num)s moves.",
        story["shortest_moves"],
        winner=winner,
        loser=loser,
    )
    return Sentence(_("Shortest win"), text, game)


def place(number: int) -> str:
    """Return `1st`, `2nd`, `11th` or `23rd`."""
    shown = number_text(number)
    if number % 100 in (11, 12, 13) or number % 10 not in (1, 2, 3):
        return _("%(number)sth", number=shown)
    if number % 10 == 1:
        return _("%(number)sst", number=shown)
    return _("%(number)snd", number=shown) if number % 10 == 2 else _("%(number)srd", number=shown)
