"""GameService: the recorded games."""

import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from noughts_proto.v1 import games_pb2 as pb
from noughts_proto.v1 import games_pb2_grpc
from noughts_referee.rules import Result, Termination
from noughts_server.convert.analyses import analysis_message
from noughts_server.convert.games import game_message, puzzle_message
from noughts_server.core.errors import InvalidArgument
from noughts_server.core.resource_names import bot_id, game_id, tournament_id
from noughts_server.runtime.analyses import Analyses
from noughts_server.services.access import VISITOR, Access, Context, open_to
from noughts_server.services.answers import answer_in_turn, build_each, page_rows
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.engine.pages import Page
from noughts_server.store.games.analyses import RequestedAnalysis, requested_analysis
from noughts_server.store.games.bot_games import list_bot_games
from noughts_server.store.games.games import GameFilter, StoredGame, get_game, list_games
from noughts_server.store.games.notes import notes_of
from noughts_server.store.games.puzzles import count_puzzles, count_unsearched, list_puzzles
from noughts_server.tables.game_analysis import read_analysis

EnumValue = TypeVar("EnumValue", Result, Termination)

_COUNTS_SECONDS = 10.0
"""Seconds after which the numbers of puzzles are counted again: 200,000 puzzles take 0.2 s."""


class GameServicer(games_pb2_grpc.GameServiceServicer):
    """Reads games."""

    def __init__(self, store: Store, analyses: Analyses | None) -> None:
        """`analyses` analyses games on request; None if the operator turned that off."""
        self._store = store
        self._analyses = analyses
        self._puzzle_counts: list[tuple[str, int, int]] = []
        self._next_count = 0.0
        """The time of `time.monotonic` from which `_puzzle_counts` is too old."""

    @open_to(Access.ANYONE)
    async def GetGame(self, request: pb.GetGameRequest, context: Context) -> pb.GetGameResponse:
        slug, number = game_id("name", request.name)
        # Only the bot's owner and the organiser may read what its process wrote to stderr.
        caller = VISITOR.get().caller

        def read(connection: Connection) -> tuple[pb.Game, dict[int, str]]:
            notes = {} if caller is None else notes_of(connection, slug, number, owner_id=caller.only_owner)
            return game_message(get_game(connection, slug, number)), notes

        game, notes = await answer_in_turn(self._store, read)
        # In the protocol, sides are counted from 1.
        note_messages = [
            pb.GameNote(side=side + 1, text=text)  # type: ignore[arg-type]
            for side, text in notes.items()
        ]
        return pb.GetGameResponse(game=game, notes=note_messages)

    @open_to(Access.ANYONE)
    async def ListGames(self, request: pb.ListGamesRequest, context: Context) -> pb.ListGamesResponse:
        read_page = _page_reader(request)

        def read(connection: Connection) -> pb.ListGamesResponse:
            page = read_page(connection)
            return pb.ListGamesResponse(
                games=build_each(game_message, page.items), next_page_token=page.next_page_token
            )

        return await answer_in_turn(self._store, read)

    @open_to(Access.ANYONE)
    async def ListPuzzles(self, request: pb.ListPuzzlesRequest, context: Context) -> pb.ListPuzzlesResponse:
        size = page_rows(request.page_size)

        def read(connection: Connection) -> pb.ListPuzzlesResponse:
            page = list_puzzles(
                connection,
                variant=request.variant,
                moves=request.moves_to_win,
                size=size,
                page_token=request.page_token,
            )
            return pb.ListPuzzlesResponse(
                puzzles=build_each(puzzle_message, page.items),
                next_page_token=page.next_page_token,
                counts=[
                    pb.PuzzleCount(variant=variant, moves_to_win=moves, puzzles=count)
                    for variant, moves, count in self._counts_of_puzzles(connection)
                ],
                waiting=count_unsearched(connection),
            )

        return await answer_in_turn(self._store, read)

    def _counts_of_puzzles(self, connection: Connection) -> list[tuple[str, int, int]]:
        if time.monotonic() >= self._next_count:
            self._puzzle_counts = count_puzzles(connection)
            self._next_count = time.monotonic() + _COUNTS_SECONDS
        return self._puzzle_counts

    @open_to(Access.ANYONE)
    async def GetAnalysis(self, request: pb.GetAnalysisRequest, context: Context) -> pb.GetAnalysisResponse:
        slug, number = game_id("name", request.name)

        def read(connection: Connection) -> tuple[RequestedAnalysis, pb.GetAnalysisResponse | None]:
            requested = requested_analysis(connection, slug, number)
            document = requested.document
            return requested, None if document is None else analysis_message(read_analysis(document))

        requested, answer = await answer_in_turn(self._store, read)
        if answer is not None:
            return answer
        reason = requested.refusal
        if not reason and self._analyses is None:
            reason = "the server analyses no games (`noughts serve --no-analysis`)"
        if requested.game is None or self._analyses is None:
            return pb.GetAnalysisResponse(state=pb.ANALYSIS_STATE_UNAVAILABLE, reason=reason)
        if request.stored_only:
            return pb.GetAnalysisResponse()
        self._analyses.request(VISITOR.get().payer, requested.game)
        return pb.GetAnalysisResponse(state=pb.ANALYSIS_STATE_PENDING)


def _page_reader(request: pb.ListGamesRequest) -> Callable[[Connection], Page[StoredGame]]:
    """Return a function that reads the page from the database. Raises InvalidArgument."""
    result = _value(Result, "result", request.result)
    termination = _value(Termination, "termination", request.termination)
    game_filter = GameFilter(
        faults=request.faults_only,
        stopped=request.stopped_only,
        result=result,
        termination=termination,
        won=request.won if request.HasField("won") else None,
    )
    size = page_rows(request.page_size)
    if request.parent.startswith("bots/"):
        tournament_filters = {
            "entry": request.entry,
            "after": request.after,
            "with_comments": request.with_comments,
            "stopped_only": request.stopped_only,
        }
        for field, value in tournament_filters.items():
            if value:
                raise InvalidArgument.of(field, value, "nothing: this filter applies only to games of `tournaments/ID`")
        return partial(
            list_bot_games,
            bot=bot_id("parent", request.parent),
            opponent=bot_id("opponent", request.opponent) if request.opponent else "",
            tournament=tournament_id("tournament", request.tournament) if request.tournament else "",
            game_filter=game_filter,
            size=size,
            page_token=request.page_token,
        )
    bot_filters = {"opponent": request.opponent, "tournament": request.tournament}
    for field, value in bot_filters.items():
        if value:
            raise InvalidArgument.of(field, value, "nothing: this filter applies only to the games of `bots/NAME`")
    if game_filter.won is not None and not request.entry:
        raise InvalidArgument.of("won", game_filter.won, "nothing: without `entry` it is unclear who won or lost")
    return partial(
        list_games,
        slug=tournament_id("parent", request.parent),
        game_filter=game_filter,
        entry=request.entry,
        after=request.after,
        comments=request.with_comments,
        size=size,
        page_token=request.page_token,
    )


def _value(kind: type[EnumValue], field: str, number: int) -> EnumValue | None:
    """Return the value of `kind` with the number of the protocol; None for 0 (UNSPECIFIED). Raises InvalidArgument."""
    try:
        return kind(number) if number else None
    except ValueError:
        numbers = ", ".join(f"{value:d}" for value in kind)
        raise InvalidArgument.of(field, number, f"one of {numbers}") from None
