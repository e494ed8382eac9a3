"""Protocol messages of ratings, leaderboards and the statistics of bots."""

from collections.abc import Set

from noughts_proto.v1 import leaderboards_pb2 as pb
from noughts_server.competition.elo import rating_error
from noughts_server.competition.score import Score
from noughts_server.convert.games import game_message
from noughts_server.convert.times import timestamp
from noughts_server.core.natural_order import natural_key
from noughts_server.core.resource_names import bot_name
from noughts_server.statistics.rating_table import Estimate, RatedPlayer, RatingTable
from noughts_server.store.games.bot_games import ScoreBySide
from noughts_server.store.games.bot_statistics import BestWin, BotStatistics, MoveTimes
from noughts_server.store.games.records import VariantRecords
from noughts_server.store.games.trophies import Trophy
from noughts_server.store.ratings.leaderboards import LeaderboardRow, RatingBin, RatingList, RatingPoint
from noughts_server.store.ratings.suspicious import Suspicion

_MOST_OPPONENTS = 100
"""Opponents in a message, those with the most games first."""


def leaderboard_row_message(
    row: LeaderboardRow, online: Set[int], estimate: Estimate | None = None
) -> pb.LeaderboardRow:
    """Return a row of a leaderboard. The live view has no estimate. `online` has the keys of connected bots."""
    return pb.LeaderboardRow(
        rank=row.rank,
        bot=bot_name(row.bot),
        owner=row.owner,
        online=row.bot_id in online,
        rating=row.rating,
        error95=rating_error(row.games),
        trend=row.trend,
        provisional=row.provisional,
        games=row.games,
        wins=row.wins,
        draws=row.draws,
        losses=row.losses,
        judged_games=row.judged_games,
        decisions=row.decisions,
        blunders=row.blunders,
        view_rating=None if estimate is None else estimate.view_rating,
        view_error95=None if estimate is None else estimate.view_error95,
        rank_low=None if estimate is None else estimate.rank_low,
        rank_high=None if estimate is None else estimate.rank_high,
    )


def rating_list_message(row: RatingList) -> pb.RatingList:
    return pb.RatingList(name=row.name, variant=row.variant, time_class=row.time_class, bots=row.bots, games=row.games)


def rating_point_message(point: RatingPoint) -> pb.RatingPoint:
    return pb.RatingPoint(
        games=point.games, rating=point.rating, time=timestamp(point.at), error95=rating_error(point.games)
    )


def score_message(score: Score) -> pb.Score:
    return pb.Score(wins=score.wins, draws=score.draws, losses=score.losses)


def score_by_side_message(score: ScoreBySide) -> pb.ScoreBySide:
    return pb.ScoreBySide(first=score_message(score.first), second=score_message(score.second))


def bot_statistics_message(statistics: BotStatistics) -> pb.GetBotStatisticsResponse:
    """Return the statistics of a bot: opponents and terminations with the most games come first."""
    opponents = sorted(statistics.opponents.items(), key=lambda item: (-item[1].games, natural_key(item[0])))
    terminations = sorted(statistics.terminations.items(), key=lambda item: -item[1].games)
    times = MoveTimes.of(statistics.times_us)
    return pb.GetBotStatisticsResponse(
        trophies=map(_trophy_message, statistics.trophies),
        best_wins=map(_best_win_message, statistics.best_wins),
        opponents=[
            pb.OpponentScore(opponent=bot_name(name), score=score_by_side_message(score))
            for name, score in opponents[:_MOST_OPPONENTS]
        ],
        opponents_total=len(opponents),
        total=score_by_side_message(statistics.total),
        games=statistics.games,
        terminations=[
            pb.TerminationScore(
                termination=int(termination),  # type: ignore[arg-type]  # equal values
                score=score_message(score),
            )
            for termination, score in terminations
        ],
        moves=len(statistics.times_us),
        median_us=times.median_us,
        percentile90_us=times.percentile90_us,
        percentile99_us=times.percentile99_us,
        longest_us=times.longest_us,
    )


def _trophy_message(trophy: Trophy) -> pb.Trophy:
    tournament = trophy.tournament
    return pb.Trophy(
        tournament=tournament.name,
        title=tournament.settings.title,
        variant=tournament.settings.variant,
        place=trophy.place,
        entries=trophy.entries,
        end_time=timestamp(tournament.ended_at),
    )


def _best_win_message(win: BestWin) -> pb.BestWin:
    return pb.BestWin(
        game=win.game.name, opponent=bot_name(win.opponent), rating=win.rating, rating_list=win.rating_list
    )


def rating_bin_message(each: RatingBin) -> pb.RatingBin:
    return pb.RatingBin(rating=each.rating, bots=each.bots)


def records_message(records: VariantRecords) -> pb.VariantRecords:
    """Return the records of one variant."""
    streak, upset = records.streak, records.upset
    return pb.VariantRecords(
        variant=records.variant,
        games=records.games,
        longest=game_message(records.longest),
        shortest=None if records.shortest is None else game_message(records.shortest),
        streak=None
        if streak is None
        else pb.WinningStreak(bot=bot_name(streak.bot), wins=streak.wins, last_game=game_message(streak.last)),
        upset=None
        if upset is None
        else pb.Upset(
            game=game_message(upset.game), winner_rating=upset.winner_rating, loser_rating=upset.loser_rating
        ),
    )


def batch_ratings_message(table: RatingTable) -> pb.GetBatchRatingsResponse:
    """Return ratings from all games; the message lacks the name of the rating list."""
    return pb.GetBatchRatingsResponse(
        ratings=map(_batch_rating_message, table.players),
        games=table.games,
        draws=sum(player.draws for player in table.players) // 2,
        advantage=table.advantage,
        advantage_error95=table.advantage_error95,
        advantage_bound=pb.AdvantageBound.Value(f"ADVANTAGE_BOUND_{table.bound.name}"),
        prior=table.prior,
    )


def _batch_rating_message(player: RatedPlayer) -> pb.BatchRating:
    return pb.BatchRating(
        rank=player.rank,
        bot=bot_name(player.name),
        rating=player.rating,
        error95=player.error95,
        wins=player.wins,
        draws=player.draws,
        losses=player.losses,
        opposition=player.opposition,
        los_next=player.los_next,
        group=player.group,
        anchored=player.anchored,
    )


def suspicion_message(suspicion: Suspicion) -> pb.SuspiciousResult:
    return pb.SuspiciousResult(
        pattern=int(suspicion.pattern),  # type: ignore[arg-type]  # equal values
        bot=suspicion.bot,
        owner=suspicion.owner,
        opponent=suspicion.opponent,
        other_owner=suspicion.other_owner,
        games=suspicion.games,
        losses=suspicion.losses,
        counted=suspicion.counted,
        share_elsewhere=suspicion.share_elsewhere,
        rating_list=suspicion.rating_list,
        points=suspicion.points,
        newest_game=suspicion.newest_game,
    )
