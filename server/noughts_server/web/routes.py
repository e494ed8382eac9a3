"""What the API knows: one table, from which its routes and its OpenAPI document are made."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from noughts_proto.v1 import bots_pb2, games_pb2, leaderboards_pb2, status_pb2, tournaments_pb2
from noughts_server.web.upstream import Upstream

PREFIX = "/api/v1"


@dataclass(frozen=True, slots=True)
class Route:
    """One address: a method of the contract that reads something."""

    path: str
    """Beneath the prefix; what stands in braces are its parameters, `{number:int}` a whole number."""
    summary: str
    method: Callable[[Upstream], Any]
    request: type[Message]
    response: type[Message]
    names: tuple[tuple[str, str], ...] = ()
    """Fields of the request that the path fills: field and template, e.g. `("name", "bots/{bot}")`."""
    rows: str = ""
    """The field of the response that holds a list: what CSV is made of. Empty where there is none."""
    within: str = ""
    """The field of the response that alone is answered; empty: all of it."""


_TOURNAMENT = "tournaments/{tournament}"

ROUTES = (
    Route(
        "/status",
        "How the server is doing.",
        lambda up: up.status.GetStatus,
        status_pb2.GetStatusRequest,
        status_pb2.GetStatusResponse,
    ),
    Route(
        "/tournaments",
        "All tournaments, newest first, without their standings.",
        lambda up: up.tournaments.ListTournaments,
        tournaments_pb2.ListTournamentsRequest,
        tournaments_pb2.ListTournamentsResponse,
        rows="tournaments",
    ),
    Route(
        "/tournaments/{tournament}",
        "A tournament; as CSV its standings.",
        lambda up: up.tournaments.GetTournament,
        tournaments_pb2.GetTournamentRequest,
        tournaments_pb2.GetTournamentResponse,
        names=(("name", _TOURNAMENT),),
        rows="standings",
        within="tournament",
    ),
    Route(
        "/tournaments/{tournament}/crosstable",
        "Who scored what against whom; of a knockout its bracket as well.",
        lambda up: up.tournaments.GetCrosstable,
        tournaments_pb2.GetCrosstableRequest,
        tournaments_pb2.GetCrosstableResponse,
        names=(("name", _TOURNAMENT),),
        rows="cells",
    ),
    Route(
        "/tournaments/{tournament}/games",
        "The games of a tournament that are over, in the order of their numbers.",
        lambda up: up.games.ListGames,
        games_pb2.ListGamesRequest,
        games_pb2.ListGamesResponse,
        names=(("parent", _TOURNAMENT),),
        rows="games",
    ),
    Route(
        "/tournaments/{tournament}/games/{number:int}",
        "A game that is over.",
        lambda up: up.games.GetGame,
        games_pb2.GetGameRequest,
        games_pb2.GetGameResponse,
        names=(("name", "tournaments/{tournament}/games/{number}"),),
    ),
    Route(
        "/bots",
        "All bots, by name.",
        lambda up: up.bots.ListBots,
        bots_pb2.ListBotsRequest,
        bots_pb2.ListBotsResponse,
        rows="bots",
    ),
    Route(
        "/bots/{bot}",
        "A bot.",
        lambda up: up.bots.GetBot,
        bots_pb2.GetBotRequest,
        bots_pb2.GetBotResponse,
        names=(("name", "bots/{bot}"),),
        within="bot",
    ),
    Route(
        "/bots/{bot}/games",
        "A bot's games in all its versions, newest first.",
        lambda up: up.games.ListGames,
        games_pb2.ListGamesRequest,
        games_pb2.ListGamesResponse,
        names=(("parent", "bots/{bot}"),),
        rows="games",
    ),
    Route(
        "/bots/{bot}/ratings",
        "A bot's place in each rating list in which it has a game.",
        lambda up: up.leaderboards.ListBotRatings,
        leaderboards_pb2.ListBotRatingsRequest,
        leaderboards_pb2.ListBotRatingsResponse,
        names=(("bot", "bots/{bot}"),),
        rows="ratings",
    ),
    Route(
        "/bots/{bot}/history",
        "How a bot's rating went in one list.",
        lambda up: up.leaderboards.GetRatingHistory,
        leaderboards_pb2.GetRatingHistoryRequest,
        leaderboards_pb2.GetRatingHistoryResponse,
        names=(("bot", "bots/{bot}"),),
        rows="points",
    ),
    Route(
        "/bots/{bot}/against/{opponent}",
        "What two bots have scored against each other; as CSV by variant.",
        lambda up: up.leaderboards.GetHeadToHead,
        leaderboards_pb2.GetHeadToHeadRequest,
        leaderboards_pb2.GetHeadToHeadResponse,
        names=(("bot", "bots/{bot}"), ("opponent", "bots/{opponent}")),
        rows="variants",
    ),
    Route(
        "/bots/{bot}/statistics",
        "What a bot has scored against each opponent, how its newest games ended, how long its moves took.",
        lambda up: up.leaderboards.GetBotStatistics,
        leaderboards_pb2.GetBotStatisticsRequest,
        leaderboards_pb2.GetBotStatisticsResponse,
        names=(("bot", "bots/{bot}"),),
        rows="opponents",
    ),
    Route(
        "/leaderboards",
        "The rating lists: variants and time classes in which there are rated games.",
        lambda up: up.leaderboards.ListRatingLists,
        leaderboards_pb2.ListRatingListsRequest,
        leaderboards_pb2.ListRatingListsResponse,
        rows="rating_lists",
    ),
    Route(
        "/leaderboards/{variant}/{time_class}",
        "A rating list, the strongest first.",
        lambda up: up.leaderboards.GetLeaderboard,
        leaderboards_pb2.GetLeaderboardRequest,
        leaderboards_pb2.GetLeaderboardResponse,
        names=(("variant", "{variant}"), ("time_class", "{time_class}")),
        rows="rows",
    ),
    Route(
        "/leaderboards/{variant}/{time_class}/fit",
        "Ratings from all games of the list at once, with their errors.",
        lambda up: up.leaderboards.GetBatchRatings,
        leaderboards_pb2.GetBatchRatingsRequest,
        leaderboards_pb2.GetBatchRatingsResponse,
        names=(("variant", "{variant}"), ("time_class", "{time_class}")),
        rows="ratings",
    ),
)

EVENTS = (
    ("/featured/events", "What is being played: the newest running tournaments and a few of their boards, live."),
    ("/tournaments/{tournament}/events", "A tournament and a few of its boards, live."),
    ("/tournaments/{tournament}/games/{number:int}/events", "A game, live."),
)
"""Streams of server-sent events: path and summary."""
