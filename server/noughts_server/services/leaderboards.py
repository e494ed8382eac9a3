"""LeaderboardService: ratings, histories and records."""

from functools import partial

from noughts_proto.v1 import leaderboards_pb2 as pb
from noughts_proto.v1 import leaderboards_pb2_grpc
from noughts_server.competition.elo import rating_error
from noughts_server.competition.score import Score
from noughts_server.core.errors import InvalidArgument, WrongState
from noughts_server.core.natural_order import natural_key
from noughts_server.core.resource_names import bot_id, bot_name
from noughts_server.messages.conversions import filled, timestamp
from noughts_server.runtime.sessions import Sessions
from noughts_server.services.access import VISITOR, Access, Context, open_to
from noughts_server.services.answers import answered, each, page_rows
from noughts_server.services.batch_ratings import MOST_BOTS, BatchRater
from noughts_server.services.games import game_message
from noughts_server.services.leaderboard_views import VIEWS, LeaderboardViews
from noughts_server.statistics.rating_table import Estimate
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.games.bot_games import ScoreBySide, head_to_head
from noughts_server.store.games.bot_statistics import BotStatistics, MoveTimes, bot_statistics
from noughts_server.store.games.explorer import explore
from noughts_server.store.ratings.leaderboards import (
    Filters,
    LeaderboardRow,
    RatingPoint,
    list_bot_ratings,
    list_rating_lists,
    rating_history,
)
from noughts_server.store.ratings.rated_pairs import rated_pairs
from noughts_server.store.ratings.rating_lists import list_name
from noughts_server.store.ratings.suspicious import Suspicion, find_suspicions

_MOST_OPPONENTS = 100
_MOST_GAMES = (1 << 63) - 1
"""Databases store 63 bits, and no bot has that many games."""


class LeaderboardServicer(leaderboards_pb2_grpc.LeaderboardServiceServicer):
    """Reads ratings and the games behind them."""

    def __init__(self, store: Store, sessions: Sessions, *, explorer: bool) -> None:
        self._explorer = explorer
        self._store = store
        self._sessions = sessions
        self._rater = BatchRater()
        self._views = LeaderboardViews(store)

    @open_to(Access.ANYONE)
    async def GetLeaderboard(self, request: pb.GetLeaderboardRequest, context: Context) -> pb.GetLeaderboardResponse:
        name = list_name(request.variant, request.time_class)
        online = self._sessions.bots_online() if request.online_only else None
        chosen = {field: getattr(request, field) for field in ("owner", "exclude_provisional", "search")}
        fewest = min(request.min_games, _MOST_GAMES)
        filters = Filters(online=online, min_games=fewest, retired=request.show_retired, **chosen)
        asked = {"filters": filters, "size": page_rows(request.page_size), "page_token": request.page_token}
        view, page, places = await self._views.shown(request.view, name, **asked)
        online = self._sessions.bots_online()
        rows = [_row(row, online, *places.get(row.bot_id, ())[1:]) for row in page.items]
        shown, known = filled(pb.LeaderboardView, view), [filled(pb.LeaderboardView, each) for each in VIEWS]
        return filled(pb.GetLeaderboardResponse, page, rows=rows, rating_list=name, view=shown, views=known)

    @open_to(Access.ANYONE)
    async def ListRatingLists(self, request: pb.ListRatingListsRequest, context: Context) -> pb.ListRatingListsResponse:
        size = page_rows(request.page_size)

        def read(connection: Connection) -> pb.ListRatingListsResponse:
            page = list_rating_lists(connection, size=size, page_token=request.page_token)
            lists = each(partial(filled, pb.RatingList), page.items)
            return pb.ListRatingListsResponse(rating_lists=lists, next_page_token=page.next_page_token)

        return await answered(self._store, read)

    @open_to(Access.ANYONE)
    async def ListBotRatings(self, request: pb.ListBotRatingsRequest, context: Context) -> pb.ListBotRatingsResponse:
        bot = bot_id("bot", request.bot)
        size, online = page_rows(request.page_size), self._sessions.bots_online()

        def read(connection: Connection) -> pb.ListBotRatingsResponse:
            page = list_bot_ratings(connection, bot=bot, size=size, page_token=request.page_token)
            rows = [pb.BotRating(rating_list=name, row=_row(row, online)) for name, row in page.items]
            return pb.ListBotRatingsResponse(ratings=rows, next_page_token=page.next_page_token)

        return await answered(self._store, read)

    @open_to(Access.ANYONE)
    async def GetRatingHistory(
        self, request: pb.GetRatingHistoryRequest, context: Context
    ) -> pb.GetRatingHistoryResponse:
        bot = bot_id("bot", request.bot)
        asked = partial(rating_history, bot=bot, variant=request.variant, time_class=request.time_class)

        def read(connection: Connection) -> pb.GetRatingHistoryResponse:
            history = asked(connection)
            return filled(pb.GetRatingHistoryResponse, history, points=list(each(_point, history.points)))

        return await answered(self._store, read)

    @open_to(Access.ANYONE)
    async def GetBatchRatings(self, request: pb.GetBatchRatingsRequest, context: Context) -> pb.GetBatchRatingsResponse:
        name = list_name(request.variant, request.time_class)
        if len(request.anchors) > MOST_BOTS:
            raise InvalidArgument.of("anchors", f"{len(request.anchors):,} anchors", f"at most {MOST_BOTS:,}")
        fewest = min(request.min_games, _MOST_GAMES)
        asked = partial(rated_pairs, variant=request.variant, time_class=request.time_class, min_games=fewest)
        pairs = await answered(self._store, asked)
        anchors = {bot_id("anchors", bot): rating for bot, rating in request.anchors.items()}
        payer = VISITOR.get().payer
        answer = await self._rater.rate(pairs, anchors=anchors, prior=request.prior, caller=payer)
        answer.rating_list = name
        return answer

    @open_to(Access.ANYONE)
    async def GetHeadToHead(self, request: pb.GetHeadToHeadRequest, context: Context) -> pb.GetHeadToHeadResponse:
        bot, opponent = bot_id("bot", request.bot), bot_id("opponent", request.opponent)
        last_games = page_rows(request.last_games)

        def read(connection: Connection) -> pb.GetHeadToHeadResponse:
            found = head_to_head(connection, bot=bot, opponent=opponent, last_games=last_games)
            variants = [pb.VariantScore(variant=name, score=_by_side(score)) for name, score in found.variants.items()]
            games = each(game_message, found.last_games)
            return pb.GetHeadToHeadResponse(total=_by_side(found.total), variants=variants, last_games=games)

        return await answered(self._store, read)

    @open_to(Access.ANYONE)
    async def GetBotStatistics(
        self, request: pb.GetBotStatisticsRequest, context: Context
    ) -> pb.GetBotStatisticsResponse:
        bot = bot_id("bot", request.bot)
        return await answered(self._store, lambda connection: _statistics(bot_statistics(connection, bot=bot)))

    @open_to(Access.ANYONE)
    async def GetOpeningMoves(self, request: pb.GetOpeningMovesRequest, context: Context) -> pb.GetOpeningMovesResponse:
        if not self._explorer:
            raise WrongState("the opening explorer", got="off", expected="on", hint="Ask the operator to turn it on.")
        asked = partial(explore, variant=request.variant, time_class=request.time_class, moves=request.moves)

        def read(connection: Connection) -> pb.GetOpeningMovesResponse:
            found = asked(connection)
            moves = [pb.OpeningMove(cells=cells, score=_score(score)) for cells, score in found.moves]
            shown = {"moves": moves, "ended": _score(found.ended), "games": list(each(game_message, found.games))}
            return filled(pb.GetOpeningMovesResponse, found, **shown)

        return await answered(self._store, read)

    @open_to(Access.ADMIN, reads=True)
    async def FindSuspiciousResults(
        self, request: pb.FindSuspiciousResultsRequest, context: Context
    ) -> pb.FindSuspiciousResultsResponse:
        def read(connection: Connection) -> pb.FindSuspiciousResultsResponse:
            return pb.FindSuspiciousResultsResponse(results=list(each(_suspicious, find_suspicions(connection))))

        return await answered(self._store, read)


def _suspicious(found: Suspicion) -> pb.SuspiciousResult:
    return pb.SuspiciousResult(
        pattern=int(found.pattern),  # type: ignore[arg-type]
        bot=found.bot,
        owner=found.owner,
        opponent=found.opponent,
        other_owner=found.other_owner,
        games=found.games,
        losses=found.losses,
        counted=found.counted,
        share_elsewhere=found.share_elsewhere,
        rating_list=found.rating_list,
        points=found.points,
        newest_game=found.newest_game,
    )


def _point(point: RatingPoint) -> pb.RatingPoint:
    return filled(pb.RatingPoint, point, time=timestamp(point.at), error95=rating_error(point.games))


def _row(row: LeaderboardRow, online: set[int], estimate: Estimate | None = None) -> pb.LeaderboardRow:
    shown = {"bot": bot_name(row.bot), "online": row.bot_id in online, "error95": rating_error(row.games)}
    return filled(pb.LeaderboardRow, row, **shown, **(estimate._asdict() if estimate else {}))


def _by_side(score: ScoreBySide) -> pb.ScoreBySide:
    return pb.ScoreBySide(first=_score(score.first), second=_score(score.second))


def _score(score: Score) -> pb.Score:
    return filled(pb.Score, score)


def _statistics(found: BotStatistics) -> pb.GetBotStatisticsResponse:
    opponents = sorted(found.opponents.items(), key=lambda each: (-each[1].games, natural_key(each[0])))
    times = MoveTimes.of(found.times_us)
    return filled(
        pb.GetBotStatisticsResponse,
        found,
        opponents=[
            pb.OpponentScore(opponent=bot_name(name), score=_by_side(score))
            for name, score in opponents[:_MOST_OPPONENTS]
        ],
        opponents_total=len(opponents),
        total=_by_side(found.total),
        terminations=[
            pb.TerminationScore(termination=int(termination), score=_score(score))  # type: ignore[arg-type]
            for termination, score in sorted(found.terminations.items(), key=lambda each: -each[1].games)
        ],
        moves=len(found.times_us),
        **times._asdict(),
    )
