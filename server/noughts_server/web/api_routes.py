"""The routes of the JSON API. The OpenAPI document is generated from them and from the contract."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message

from noughts_proto.v1 import (
    bots_pb2,
    games_pb2,
    leaderboards_pb2,
    registration_pb2,
    status_pb2,
    tests_pb2,
    tournaments_pb2,
    tunings_pb2,
)
from noughts_server.client.stubs import AsyncStubs

if TYPE_CHECKING:
    import grpc.aio

PREFIX = "/api/v1"

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)


@dataclass(frozen=True)
class ApiRoute(Generic[Request, Response]):
    """An address of the API, which calls a method of the contract that changes nothing."""

    path: str
    """Path beneath the prefix; names in braces are parameters, `{number:int}` is a whole number."""
    method: "Callable[[AsyncStubs], grpc.aio.UnaryUnaryMultiCallable[Request, Response]]"
    """Returns the method from the stubs of a server."""
    request: type[Request]
    response: type[Response]
    summary: str
    names: Mapping[str, str] = field(default_factory=dict)
    """Templates of the request's fields that the path sets, e.g. `bots/{bot}` for `name`."""
    rows: str = ""
    """The field of the response that holds the rows of the CSV; empty if there is no list."""
    within: str = ""
    """The field of the response that the API returns; empty for the complete response."""

    without_work: str = ""
    """The field of the request that is set for pages of other sites, so that they start no work of the server."""

    @property
    def returned_message(self) -> Descriptor:
        """The descriptor of the returned message."""
        response = cast(Descriptor, self.response.DESCRIPTOR)
        return response.fields_by_name[self.within].message_type or response if self.within else response


TOURNAMENTS = ApiRoute(
    "/tournaments",
    lambda server: server.tournaments.ListTournaments,
    tournaments_pb2.ListTournamentsRequest,
    tournaments_pb2.ListTournamentsResponse,
    summary="All tournaments, newest first, without their standings.",
    rows="tournaments",
)
SEASONS = ApiRoute(
    "/tournaments/{tournament}/seasons",
    lambda server: server.tournaments.ListSeasons,
    tournaments_pb2.ListSeasonsRequest,
    tournaments_pb2.ListSeasonsResponse,
    summary="The seasons of a tournament that repeats, newest first.",
    names={"name": "tournaments/{tournament}"},
    rows="seasons",
)
TOURNAMENT_GAMES = ApiRoute(
    "/tournaments/{tournament}/games",
    lambda server: server.games.ListGames,
    games_pb2.ListGamesRequest,
    games_pb2.ListGamesResponse,
    summary="The games of a tournament that are over, in numerical order.",
    names={"parent": "tournaments/{tournament}"},
    rows="games",
)
PUZZLES = ApiRoute(
    "/puzzles",
    lambda server: server.games.ListPuzzles,
    games_pb2.ListPuzzlesRequest,
    games_pb2.ListPuzzlesResponse,
    summary="Positions of games in which exactly one move wins, by variant and by moves to the win.",
    rows="puzzles",
)
TESTS = ApiRoute(
    "/tests",
    lambda server: server.tests.ListTests,
    tests_pb2.ListTestsRequest,
    tests_pb2.ListTestsResponse,
    summary=(
        "Tests of bot versions: running ones by priority, then the oldest first; stopped ones; the last to end first."
    ),
    rows="tests",
)
TUNINGS = ApiRoute(
    "/tunings",
    lambda server: server.tunings.ListTunings,
    tunings_pb2.ListTuningsRequest,
    tunings_pb2.ListTuningsResponse,
    summary="All tunings, newest first, without their optima and curves.",
    rows="tunings",
)
BOTS = ApiRoute(
    "/bots",
    lambda server: server.bots.ListBots,
    bots_pb2.ListBotsRequest,
    bots_pb2.ListBotsResponse,
    summary="All bots, by name.",
    rows="bots",
)
LEADERBOARD = ApiRoute(
    "/leaderboards/{variant}/{time_class}",
    lambda server: server.leaderboards.GetLeaderboard,
    leaderboards_pb2.GetLeaderboardRequest,
    leaderboards_pb2.GetLeaderboardResponse,
    summary="A rating list, the strongest first.",
    names={"variant": "{variant}", "time_class": "{time_class}"},
    rows="rows",
)

REGISTRATION = ApiRoute(
    "/registration",
    lambda server: server.registration.GetRegistration,
    registration_pb2.GetRegistrationRequest,
    registration_pb2.GetRegistrationResponse,
    summary="The mode of registration; if it is open, a challenge for the proof of work.",
)

ROUTES: tuple[ApiRoute[Any, Any], ...] = (
    ApiRoute(
        "/status",
        lambda server: server.status.GetStatus,
        status_pb2.GetStatusRequest,
        status_pb2.GetStatusResponse,
        summary="How the server is doing.",
    ),
    TOURNAMENTS,
    ApiRoute(
        "/tournaments/{tournament}",
        lambda server: server.tournaments.GetTournament,
        tournaments_pb2.GetTournamentRequest,
        tournaments_pb2.GetTournamentResponse,
        summary="A tournament with its settings, state and standings; as CSV its standings.",
        names={"name": "tournaments/{tournament}"},
        rows="standings",
        within="tournament",
    ),
    ApiRoute(
        "/tournaments/{tournament}/crosstable",
        lambda server: server.tournaments.GetCrosstable,
        tournaments_pb2.GetCrosstableRequest,
        tournaments_pb2.GetCrosstableResponse,
        summary="The score of each bot against each other; of a knockout its bracket as well.",
        names={"name": "tournaments/{tournament}"},
        rows="cells",
    ),
    SEASONS,
    TOURNAMENT_GAMES,
    ApiRoute(
        "/tournaments/{tournament}/games/{number:int}",
        lambda server: server.games.GetGame,
        games_pb2.GetGameRequest,
        games_pb2.GetGameResponse,
        summary="A game that is over, with its moves and their times.",
        names={"name": "tournaments/{tournament}/games/{number}"},
    ),
    ApiRoute(
        "/tournaments/{tournament}/games/{number:int}/analysis",
        lambda server: server.games.GetAnalysis,
        games_pb2.GetAnalysisRequest,
        games_pb2.GetAnalysisResponse,
        summary="The values of a game's positions, its mistakes and the accuracy of both sides.",
        names={"name": "tournaments/{tournament}/games/{number}"},
        rows="mistakes",
        without_work="stored_only",
    ),
    TESTS,
    ApiRoute(
        "/tests/{test}",
        lambda server: server.tests.GetTest,
        tests_pb2.GetTestRequest,
        tests_pb2.GetTestResponse,
        summary="A test with its state and statistics.",
        names={"name": "tests/{test}"},
        within="test",
    ),
    TUNINGS,
    ApiRoute(
        "/tunings/{tuning}",
        lambda server: server.tunings.GetTuning,
        tunings_pb2.GetTuningRequest,
        tunings_pb2.GetTuningResponse,
        summary="A tuning with its present values, its optima and its curve; as CSV its parameters.",
        names={"name": "tunings/{tuning}"},
        rows="parameters",
        within="tuning",
    ),
    ApiRoute(
        "/tunings/{tuning}/iterations",
        lambda server: server.tunings.ListTuningIterations,
        tunings_pb2.ListTuningIterationsRequest,
        tunings_pb2.ListTuningIterationsResponse,
        summary="The complete iterations of a tuning, with the values after each.",
        names={"name": "tunings/{tuning}"},
        rows="iterations",
    ),
    BOTS,
    ApiRoute(
        "/bots/{bot}",
        lambda server: server.bots.GetBot,
        bots_pb2.GetBotRequest,
        bots_pb2.GetBotResponse,
        summary="A bot, its newest version, and whether it is online.",
        names={"name": "bots/{bot}"},
        within="bot",
    ),
    ApiRoute(
        "/bots/{bot}/games",
        lambda server: server.games.ListGames,
        games_pb2.ListGamesRequest,
        games_pb2.ListGamesResponse,
        summary="A bot's games in all its versions, newest first.",
        names={"parent": "bots/{bot}"},
        rows="games",
    ),
    ApiRoute(
        "/bots/{bot}/ratings",
        lambda server: server.leaderboards.ListBotRatings,
        leaderboards_pb2.ListBotRatingsRequest,
        leaderboards_pb2.ListBotRatingsResponse,
        summary="A bot's place in each rating list in which it has a game.",
        names={"bot": "bots/{bot}"},
        rows="ratings",
    ),
    ApiRoute(
        "/bots/{bot}/history",
        lambda server: server.leaderboards.GetRatingHistory,
        leaderboards_pb2.GetRatingHistoryRequest,
        leaderboards_pb2.GetRatingHistoryResponse,
        summary="How a bot's rating went in one list.",
        names={"bot": "bots/{bot}"},
        rows="points",
    ),
    ApiRoute(
        "/bots/{bot}/against/{opponent}",
        lambda server: server.leaderboards.GetHeadToHead,
        leaderboards_pb2.GetHeadToHeadRequest,
        leaderboards_pb2.GetHeadToHeadResponse,
        summary="What two bots have scored against each other; as CSV by variant.",
        names={"bot": "bots/{bot}", "opponent": "bots/{opponent}"},
        rows="variants",
    ),
    ApiRoute(
        "/bots/{bot}/statistics",
        lambda server: server.leaderboards.GetBotStatistics,
        leaderboards_pb2.GetBotStatisticsRequest,
        leaderboards_pb2.GetBotStatisticsResponse,
        summary="What a bot has scored against each opponent, how its newest games ended, how long its moves took.",
        names={"bot": "bots/{bot}"},
        rows="opponents",
    ),
    ApiRoute(
        "/leaderboards",
        lambda server: server.leaderboards.ListRatingLists,
        leaderboards_pb2.ListRatingListsRequest,
        leaderboards_pb2.ListRatingListsResponse,
        summary="The rating lists: variants and time classes in which there are rated games.",
        rows="rating_lists",
    ),
    LEADERBOARD,
    ApiRoute(
        "/leaderboards/{variant}/{time_class}/fit",
        lambda server: server.leaderboards.GetBatchRatings,
        leaderboards_pb2.GetBatchRatingsRequest,
        leaderboards_pb2.GetBatchRatingsResponse,
        summary="Ratings from all games in the list at once, with their errors.",
        names={"variant": "{variant}", "time_class": "{time_class}"},
        rows="ratings",
    ),
    PUZZLES,
    ApiRoute(
        "/records",
        lambda server: server.leaderboards.GetRecords,
        leaderboards_pb2.GetRecordsRequest,
        leaderboards_pb2.GetRecordsResponse,
        summary="Records of the newest games by variant: longest, shortest, winning streak, upset.",
        rows="records",
    ),
    REGISTRATION,
    ApiRoute(
        "/leaderboards/{variant}/{time_class}/openings",
        lambda server: server.leaderboards.GetOpeningMoves,
        leaderboards_pb2.GetOpeningMovesRequest,
        leaderboards_pb2.GetOpeningMovesResponse,
        summary="The moves in a position of a list's games, with their results.",
        names={"variant": "{variant}", "time_class": "{time_class}"},
        rows="moves",
    ),
)
"""In the order of the documentation."""

EVENTS = (
    ("/featured/events", "What is being played: the newest running tournaments and a few of their boards, live."),
    ("/tournaments/{tournament}/events", "A tournament and a few of its boards, live."),
    ("/tournaments/{tournament}/games/{number:int}/events", "A game, live."),
)
"""Streams of server-sent events: path and summary."""
