"""LeaderboardService: ratings, histories and records."""

import asyncio
from dataclasses import replace
from functools import partial

from noughts_proto.v1 import leaderboards_pb2 as pb
from noughts_proto.v1 import leaderboards_pb2_grpc
from noughts_server.convert.games import game_message
from noughts_server.convert.leaderboards import (
    bot_statistics_message,
    leaderboard_row_message,
    rating_bin_message,
    rating_list_message,
    rating_point_message,
    records_message,
    score_by_side_message,
    score_message,
    suspicion_message,
)
from noughts_server.core.errors import InvalidArgument, WrongState
from noughts_server.core.resource_names import bot_id
from noughts_server.runtime.sessions import Sessions
from noughts_server.services.access import VISITOR, Access, Context, open_to
from noughts_server.services.answers import answer_in_turn, build_each, page_rows
from noughts_server.services.batch_ratings import MOST_BOTS, BatchRater
from noughts_server.services.leaderboard_views import VIEWS, LeaderboardViews, View
from noughts_server.services.limiter import Limiter
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.engine.pages import Page
from noughts_server.store.games.bot_games import head_to_head
from noughts_server.store.games.bot_statistics import bot_statistics
from noughts_server.store.games.explorer import explore
from noughts_server.store.games.records import newest_records
from noughts_server.store.people.anchors import known_ratings
from noughts_server.store.ratings.leaderboards import (
    Filters,
    LeaderboardRow,
    Place,
    list_bot_ratings,
    list_rating_lists,
    rating_history,
)
from noughts_server.store.ratings.rated_pairs import rated_pairs
from noughts_server.store.ratings.rating_lists import list_name
from noughts_server.store.ratings.suspicious import find_suspicions

_MOST_GAMES = (1 << 63) - 1
"""The largest integer of the database. No bot has that many games."""
_RECORDS_SECONDS = 60.0
"""The time for which all callers get the same records, because they are computed from thousands of games."""


class LeaderboardServicer(leaderboards_pb2_grpc.LeaderboardServiceServicer):
    """Reads ratings and the games behind them."""

    def __init__(
        self, store: Store, sessions: Sessions, limiter: Limiter, views: LeaderboardViews, *, explorer: bool
    ) -> None:
        self._explorer = explorer
        self._store = store
        self._sessions = sessions
        self._limiter = limiter
        self._rater = BatchRater()
        self._views = views
        self._records: pb.GetRecordsResponse | None = None
        self._records_expire_at = 0.0
        """By the event loop's clock."""
        self._reading_records = asyncio.Lock()

    @open_to(Access.ANYONE)
    async def GetLeaderboard(self, request: pb.GetLeaderboardRequest, context: Context) -> pb.GetLeaderboardResponse:
        name = list_name(request.variant, request.time_class)
        filters = Filters(
            owner=request.owner,
            online=self._sessions.bots_online() if request.online_only else None,
            min_games=min(request.min_games, _MOST_GAMES),
            exclude_provisional=request.exclude_provisional,
            retired=request.show_retired,
            search=request.search,
        )
        view, page, places = await self._views.page(
            request.view, name, filters=filters, size=page_rows(request.page_size), page_token=request.page_token
        )
        online = self._sessions.bots_online()
        return pb.GetLeaderboardResponse(
            rows=[_row_message(row, online, places.get(row.bot_id)) for row in page.items],
            next_page_token=page.next_page_token,
            rating_list=name,
            view=_view_message(view),
            views=map(_view_message, VIEWS),
        )

    @open_to(Access.ANYONE)
    async def ListRatingLists(self, request: pb.ListRatingListsRequest, context: Context) -> pb.ListRatingListsResponse:
        size = page_rows(request.page_size)

        def read(connection: Connection) -> pb.ListRatingListsResponse:
            page = list_rating_lists(connection, size=size, page_token=request.page_token)
            lists = build_each(rating_list_message, page.items)
            return pb.ListRatingListsResponse(rating_lists=lists, next_page_token=page.next_page_token)

        return await answer_in_turn(self._store, read)

    @open_to(Access.ANYONE)
    async def ListBotRatings(self, request: pb.ListBotRatingsRequest, context: Context) -> pb.ListBotRatingsResponse:
        bot = bot_id("bot", request.bot)
        size = page_rows(request.page_size)
        online = self._sessions.bots_online()

        def read(connection: Connection) -> Page[tuple[str, LeaderboardRow]]:
            return list_bot_ratings(connection, bot=bot, size=size, page_token=request.page_token)

        page = await answer_in_turn(self._store, read)
        rows: list[pb.BotRating] = []
        for name, row in page.items:
            place = (await self._views.default_places(name)).get(row.bot_id)
            message = _row_message(row if place is None else replace(row, rank=place.rank), online, place)
            rows.append(pb.BotRating(rating_list=name, row=message))
        return pb.ListBotRatingsResponse(ratings=rows, next_page_token=page.next_page_token)

    @open_to(Access.ANYONE)
    async def GetRatingHistory(
        self, request: pb.GetRatingHistoryRequest, context: Context
    ) -> pb.GetRatingHistoryResponse:
        bot = bot_id("bot", request.bot)

        def read(connection: Connection) -> pb.GetRatingHistoryResponse:
            history = rating_history(
                connection,
                bot=bot,
                variant=request.variant,
                time_class=request.time_class,
                distribution=request.distribution,
            )
            return pb.GetRatingHistoryResponse(
                points=build_each(rating_point_message, history.points),
                rating_list=history.rating_list,
                rating=history.rating,
                games=history.games,
                distribution=map(rating_bin_message, history.distribution),
            )

        return await answer_in_turn(self._store, read)

    @open_to(Access.ANYONE)
    async def GetBatchRatings(self, request: pb.GetBatchRatingsRequest, context: Context) -> pb.GetBatchRatingsResponse:
        name = list_name(request.variant, request.time_class)
        if len(request.anchors) > MOST_BOTS:
            raise InvalidArgument.of("anchors", f"{len(request.anchors):,} anchors", f"at most {MOST_BOTS:,}")
        read = partial(
            rated_pairs,
            variant=request.variant,
            time_class=request.time_class,
            min_games=min(request.min_games, _MOST_GAMES),
        )
        anchors = {bot_id("anchors", bot): rating for bot, rating in request.anchors.items()}
        payer = VISITOR.get().payer
        with self._limiter.holding("batch_ratings", payer, f"batch ratings for {payer}"):
            answer = await self._rater.rate(
                partial(answer_in_turn, self._store, read),
                anchors=anchors,
                known=await self._store.read(known_ratings),
                prior=request.prior,
                caller=payer,
            )
        answer.rating_list = name
        return answer

    @open_to(Access.ANYONE)
    async def GetHeadToHead(self, request: pb.GetHeadToHeadRequest, context: Context) -> pb.GetHeadToHeadResponse:
        bot, opponent = bot_id("bot", request.bot), bot_id("opponent", request.opponent)
        last_games = page_rows(request.last_games)

        def read(connection: Connection) -> pb.GetHeadToHeadResponse:
            record = head_to_head(connection, bot=bot, opponent=opponent, last_games=last_games)
            return pb.GetHeadToHeadResponse(
                total=score_by_side_message(record.total),
                variants=[
                    pb.VariantScore(variant=name, score=score_by_side_message(score))
                    for name, score in record.variants.items()
                ],
                last_games=build_each(game_message, record.last_games),
            )

        return await answer_in_turn(self._store, read)

    @open_to(Access.ANYONE)
    async def GetBotStatistics(
        self, request: pb.GetBotStatisticsRequest, context: Context
    ) -> pb.GetBotStatisticsResponse:
        bot = bot_id("bot", request.bot)

        def read(connection: Connection) -> pb.GetBotStatisticsResponse:
            return bot_statistics_message(bot_statistics(connection, bot=bot))

        return await answer_in_turn(self._store, read)

    @open_to(Access.ANYONE)
    async def GetOpeningMoves(self, request: pb.GetOpeningMovesRequest, context: Context) -> pb.GetOpeningMovesResponse:
        if not self._explorer:
            raise WrongState("the opening explorer", got="off", expected="on", hint="Ask the operator to turn it on.")

        def read(connection: Connection) -> pb.GetOpeningMovesResponse:
            position = explore(connection, variant=request.variant, time_class=request.time_class, moves=request.moves)
            return pb.GetOpeningMovesResponse(
                rating_list=position.rating_list,
                moves=[pb.OpeningMove(cells=cells, score=score_message(score)) for cells, score in position.moves],
                ended=score_message(position.ended),
                legal=position.legal,
                games=build_each(game_message, position.games),
                rating_lists=position.rating_lists,
                waiting=position.waiting,
            )

        return await answer_in_turn(self._store, read)

    @open_to(Access.ANYONE)
    async def GetRecords(self, request: pb.GetRecordsRequest, context: Context) -> pb.GetRecordsResponse:
        async with self._reading_records:
            now = asyncio.get_running_loop().time()
            if self._records is None or now >= self._records_expire_at:

                def read(connection: Connection) -> pb.GetRecordsResponse:
                    return pb.GetRecordsResponse(records=build_each(records_message, newest_records(connection)))

                self._records = await answer_in_turn(self._store, read)
                self._records_expire_at = now + _RECORDS_SECONDS
            return self._records

    @open_to(Access.ADMIN, reads=True)
    async def FindSuspiciousResults(
        self, request: pb.FindSuspiciousResultsRequest, context: Context
    ) -> pb.FindSuspiciousResultsResponse:
        def read(connection: Connection) -> pb.FindSuspiciousResultsResponse:
            return pb.FindSuspiciousResultsResponse(results=build_each(suspicion_message, find_suspicions(connection)))

        return await answer_in_turn(self._store, read)


def _row_message(row: LeaderboardRow, online: set[int], place: Place | None) -> pb.LeaderboardRow:
    return leaderboard_row_message(row, online, None if place is None else place.estimate)


def _view_message(view: View) -> pb.LeaderboardView:
    return pb.LeaderboardView(name=view.name, title=view.title, source=view.source)
