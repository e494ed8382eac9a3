"""The table of the API's routes, from which the OpenAPI document is also generated."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from google.protobuf.descriptor import Descriptor
from google.protobuf.message_factory import GetMessageClass

from noughts_server.web.upstream import described

PREFIX = "/api/v1"


@dataclass(frozen=True)
class Route:
    """One address: a reading method of the contract."""

    path: str
    """Path beneath the prefix; names in braces are parameters, `{number:int}` is a whole number."""
    summary: str
    method: str
    """Service and method of the contract, e.g. `games.GetGame`."""
    names: tuple[tuple[str, str], ...] = ()
    """Fields of the request that the path sets: field and template, e.g. `("name", "bots/{bot}")`."""
    rows: str = ""
    """The field of the response that holds the rows of the CSV; empty if there is no list."""
    within: str = ""
    """The only field of the response that is returned; empty: all of it."""

    @cached_property
    def request(self) -> Any:
        """The class of the request."""
        return GetMessageClass(described(self.method).input_type)

    @cached_property
    def answered(self) -> Descriptor:
        """The descriptor of the returned message."""
        response: Descriptor = described(self.method).output_type
        return response.fields_by_name[self.within].message_type or response if self.within else response


_TOURNAMENT = "tournaments/{tournament}"
_NAMED, _OF_TOURNAMENT, _OF_BOT = (("name", _TOURNAMENT),), (("parent", _TOURNAMENT),), (("bot", "bots/{bot}"),)
_OF_LIST = (("variant", "{variant}"), ("time_class", "{time_class}"))

ROUTES = (
    Route("/status", "How the server is doing.", "status.GetStatus"),
    Route(
        "/tournaments",
        "All tournaments, newest first, without their standings.",
        "tournaments.ListTournaments",
        rows="tournaments",
    ),
    Route(
        "/tournaments/{tournament}",
        "A tournament; as CSV its standings.",
        "tournaments.GetTournament",
        _NAMED,
        "standings",
        within="tournament",
    ),
    Route(
        "/tournaments/{tournament}/crosstable",
        "The score of each bot against each other; of a knockout its bracket as well.",
        "tournaments.GetCrosstable",
        _NAMED,
        "cells",
    ),
    Route(
        "/tournaments/{tournament}/games",
        "The games of a tournament that are over, in numerical order.",
        "games.ListGames",
        _OF_TOURNAMENT,
        "games",
    ),
    Route(
        "/tournaments/{tournament}/games/{number:int}",
        "A game that is over.",
        "games.GetGame",
        (("name", "tournaments/{tournament}/games/{number}"),),
    ),
    Route(
        "/tests",
        "Tests of bot versions: running ones by priority, then the oldest first; stopped ones; the last to end first.",
        "tests.ListTests",
        rows="tests",
    ),
    Route("/tests/{test}", "A test.", "tests.GetTest", (("name", "tests/{test}"),), within="test"),
    Route("/bots", "All bots, by name.", "bots.ListBots", rows="bots"),
    Route("/bots/{bot}", "A bot.", "bots.GetBot", (("name", "bots/{bot}"),), within="bot"),
    Route(
        "/bots/{bot}/games",
        "A bot's games in all its versions, newest first.",
        "games.ListGames",
        (("parent", "bots/{bot}"),),
        "games",
    ),
    Route(
        "/bots/{bot}/ratings",
        "A bot's place in each rating list in which it has a game.",
        "leaderboards.ListBotRatings",
        _OF_BOT,
        "ratings",
    ),
    Route(
        "/bots/{bot}/history",
        "How a bot's rating went in one list.",
        "leaderboards.GetRatingHistory",
        _OF_BOT,
        "points",
    ),
    Route(
        "/bots/{bot}/against/{opponent}",
        "What two bots have scored against each other; as CSV by variant.",
        "leaderboards.GetHeadToHead",
        (("bot", "bots/{bot}"), ("opponent", "bots/{opponent}")),
        "variants",
    ),
    Route(
        "/bots/{bot}/statistics",
        "What a bot has scored against each opponent, how its newest games ended, how long its moves took.",
        "leaderboards.GetBotStatistics",
        _OF_BOT,
        "opponents",
    ),
    Route(
        "/leaderboards",
        "The rating lists: variants and time classes in which there are rated games.",
        "leaderboards.ListRatingLists",
        rows="rating_lists",
    ),
    Route(
        "/leaderboards/{variant}/{time_class}",
        "A rating list, the strongest first.",
        "leaderboards.GetLeaderboard",
        _OF_LIST,
        "rows",
    ),
    Route(
        "/leaderboards/{variant}/{time_class}/fit",
        "Ratings from all games in the list at once, with their errors.",
        "leaderboards.GetBatchRatings",
        _OF_LIST,
        "ratings",
    ),
    Route(
        "/leaderboards/{variant}/{time_class}/openings",
        "The moves in a position of a list's games, with their results.",
        "leaderboards.GetOpeningMoves",
        _OF_LIST,
        "moves",
    ),
)

EVENTS = (
    ("/featured/events", "What is being played: the newest running tournaments and a few of their boards, live."),
    ("/tournaments/{tournament}/events", "A tournament and a few of its boards, live."),
    ("/tournaments/{tournament}/games/{number:int}/events", "A game, live."),
)
"""Streams of server-sent events: path and summary."""
