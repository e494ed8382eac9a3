"""What is around a game: its neighbours in the tournament, the live games, and the ratings of that time."""

from contextlib import suppress
from datetime import datetime

from noughts_proto.v1 import games_pb2, leaderboards_pb2, tournaments_pb2
from noughts_server.competition.elo import START
from noughts_server.competition.formats import format_of
from noughts_server.web.documents import Document
from noughts_server.web.event_streams import Hub
from noughts_server.web.running_stages import Round
from noughts_server.web.upstream import Failure, Upstream
from noughts_server.web.words import bot, number, points, short

_MOST_LIVE = 24
"""The live games to which the page of a game has links."""
_MOST_BOARDS = 6
"""The first of these, which have boards."""


async def neighbours(upstream: Upstream, tournament: tournaments_pb2.Tournament, name: str) -> Document:
    """Return the numbers of the `previous` and the `next` stored game of a tournament; 0 without one."""
    here = int(number(name))
    if tournament.games_total < 2:
        return {"previous": 0, "next": 0}
    request = games_pb2.ListGamesRequest(parent=tournament.name, after=max(0, here - 2), page_size=3)
    stored: list[int] = []
    with suppress(Failure):
        stored = [
            int(number(game["name"])) for game in (await upstream.ask(upstream.games.ListGames, request))["games"]
        ]
    return {
        "previous": here - 1 if here - 1 in stored else 0,
        "next": min((each for each in stored if each > here), default=0),
    }


async def knockout_match(upstream: Upstream, tournament: tournaments_pb2.Tournament, game: Document) -> Document | None:
    """Return the `round` and the `score` of the knockout match that a game belongs to; None in other formats.

    The score begins with the points of the game's first player.
    """
    if not format_of(tournament.schedule).places_by_bracket:
        return None
    matches: list[Document] = []
    request = tournaments_pb2.GetCrosstableRequest(name=tournament.name, top=1)
    with suppress(Failure):
        matches = (await upstream.ask(upstream.tournaments.GetCrosstable, request))["matches"]
    for match in matches:
        scores = {match["first"]: match["first_points"], match["second"]: match["second_points"]}
        if scores.keys() == {game["first"], game["second"]}:
            last = max(each["round"] for each in matches)
            return {
                "round": Round(match["round"], last, is_knockout=True),
                "score": f"{points(scores[game['first']])}\N{EN DASH}{points(scores[game['second']])}",
            }
    return None


async def live_around(hub: Hub, name: str) -> Document:
    """Return the other `live` games of a game's tournament from the feed, without a call of the server.

    `onward` is the number of the live game after this one, or of the first; 0 without one. `running` is whether more
    games will follow. Raises Failure.
    """
    tournament_name = name.partition("/games/")[0]
    here = int(number(name))
    snapshot = await hub.snapshot_of(tournament_name)
    tournament = snapshot["tournaments"][0]
    games = {int(number(game["name"])): game for game in snapshot["games"] if game["state"] != "ended"}
    numbers = sorted({*tournament["live_games"], *games} - {here})
    live = [
        {"number": each, "game": games.get(each), "has_board": each in games and place < _MOST_BOARDS}
        for place, each in enumerate(numbers[:_MOST_LIVE])
    ]
    return {
        "tournament": tournament_name,
        "title": tournament["title"] or short(tournament_name),
        "live": live,
        "onward": next((each for each in numbers if each > here), numbers[0] if numbers else 0),
        "running": tournament["state"] == "running" and tournament["games_total"] != 1,
    }


async def ratings_then(upstream: Upstream, tournament: tournaments_pb2.Tournament, game: Document) -> Document:
    """Return the ratings by side that both bots had when a rated game began; empty for other games.

    The server stores a bot's rating after each of its first 64 games, then after every few. Of these, the newest before
    the end of the game counts.
    """
    if game["state"] != "ended" or game.get("rating_seq") is None or not game.get("end_time"):
        return {}
    variant, _, time_class = tournament.rating_list.rpartition("/")
    ended = _moment(game["end_time"])
    ratings: Document = {}
    for side in ("first", "second"):
        request = leaderboards_pb2.GetRatingHistoryRequest(
            bot=bot(game[f"{side}_bot"]), variant=variant, time_class=time_class
        )
        with suppress(Failure):
            points = (await upstream.ask(upstream.leaderboards.GetRatingHistory, request))["points"]
            earlier = [point["rating"] for point in points if _moment(point["time"]) < ended]
            ratings[side] = earlier[-1] if earlier else START
    return ratings


def _moment(stamp: str) -> datetime:
    return datetime.fromisoformat(stamp)
