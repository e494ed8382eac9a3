"""What is around a game: its neighbours in the tournament, the live games, and the ratings of that time."""

from contextlib import suppress
from datetime import datetime

from noughts_proto.v1 import games_pb2, leaderboards_pb2, tournaments_pb2
from noughts_server.competition.elo import START
from noughts_server.web.documents import Document
from noughts_server.web.event_streams import Hub
from noughts_server.web.upstream import Failure, Upstream
from noughts_server.web.words import bot, number

_MOST_LIVE = 24
"""The live games to which the page of a game has links."""


async def around_game(upstream: Upstream, hub: Hub, tournament: tournaments_pb2.Tournament, name: str) -> Document:
    """Return the names of the `previous` and the `next` game, each empty without one, and the other `live` games.

    `onward` is the live game after this one, or the first; empty without one. `running` is whether others will follow.
    """
    here = int(number(name))
    stored: list[int] = []
    live: dict[int, Document] = {}
    with suppress(Failure):
        if tournament.games_total > 1:
            request = games_pb2.ListGamesRequest(parent=tournament.name, after=max(0, here - 2), page_size=3)
            stored = [
                int(number(game["name"])) for game in (await upstream.ask(upstream.games.ListGames, request))["games"]
            ]
    is_running = tournament.state == tournaments_pb2.TOURNAMENT_STATE_RUNNING
    with suppress(Failure):
        if is_running:
            live = _live_games(await hub.snapshot_of(tournament.name))
    live.pop(here, None)
    numbers = {*stored, *live}
    later_live = [each for each in sorted(live) if each > here] or sorted(live)

    def game_name(numbers: list[int]) -> str:
        return f"{tournament.name}/games/{numbers[0]}" if numbers else ""

    return {
        "previous": game_name([each for each in numbers if each == here - 1]),
        "next": game_name(sorted(each for each in numbers if each > here)[:1]),
        "onward": game_name(later_live[:1]),
        "live": [live[each] for each in sorted(live)[:_MOST_LIVE]],
        "running": is_running and tournament.games_total != 1,
    }


def _live_games(snapshot: Document) -> dict[int, Document]:
    """Return the live games of a tournament by number. Only those with a board have `first` and `second`."""
    boards = {int(number(game["name"])): game for game in snapshot["games"] if game["state"] != "ended"}
    numbers = {each for row in snapshot["tournaments"] for each in row["live_games"]} | boards.keys()
    return {
        each: {
            "number": each,
            "first": boards[each]["first"] if each in boards else "",
            "second": boards[each]["second"] if each in boards else "",
        }
        for each in numbers
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
