"""Codecs of the bus's subjects: they convert values of the server's parts to messages on the network, and back."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from math import ceil
from typing import Any, NamedTuple

from noughts_proto.v1 import cluster_pb2 as pb
from noughts_proto.v1 import feed_pb2
from noughts_referee.work_units import FinishedGame
from noughts_server.convert.seeks import seek_message
from noughts_server.feed.observer import PLAYED, GameEvent, ScheduledGameKey
from noughts_server.runtime.analyses import REQUESTED, AnalysisRequest
from noughts_server.runtime.recorder import COMMITTED, PROGRESSED
from noughts_server.runtime.sessions import OnlineBot
from noughts_server.runtime.tournament_play import ABANDONED, CHANGED, CONCEDED
from noughts_server.store.games.analyses import GameToAnalyse
from noughts_server.store.games.results import CommitReport, TournamentProgress
from noughts_server.store.tournaments.withdrawals import Withdrawal

TO_SERVER, TO_REFEREE = "asks", "answers"
"""Subjects `asks:SERVER` with `pb.ClusterAsks`, and `answers:REFEREE` with `pb.ClusterAnswers`."""
SERVERS, REFEREES, WANTS = "servers", "referees", "wants"
"""Subjects for servers with `pb.ServerPresence` and `pb.RefereePresence`, and for referees with `pb.FeedWants`."""
OFFERS = "offers"
"""The subject for referees with `pb.RefereePresence`, of which only the bots are set."""

# The limits of one message with finished games. NATS accepts a megabyte a message by default.
_MOST_GAMES = 2_000
_MOST_BYTES = 500_000


class Codec(NamedTuple):
    """The conversion of a subject's values."""

    encode: Callable[[Any], Iterator[bytes]]
    """Encodes a value as one message or several."""
    decode: Callable[[bytes], Any]


def login_message(version: int, login: OnlineBot) -> pb.BotPresence:
    """Return the login of a bot version for the other nodes."""
    return pb.BotPresence(
        version=version,
        bot=login.bot,
        name=login.name,
        token=login.token or 0,
        declines_challenges=login.declines_challenges,
        variants=login.variants,
        seek=seek_message(login.seek),
    )


def codec(subject: str) -> Codec | None:
    """Return the codec of a subject. None: its values stay in their process."""
    return _CODECS.get(subject.partition(":")[0])


def _plain(kind: type[Any]) -> Codec:
    return Codec(lambda message: iter((message.SerializeToString(),)), kind.FromString)


def _encode_played(played: GameEvent) -> Iterator[bytes]:
    slot, event = played
    message = pb.FeedPlayed(tournament=slot.tournament, ordinal=slot.ordinal)
    if isinstance(event, feed_pb2.WatchedPly):
        message.ply.CopyFrom(event)
    else:
        message.snapshot.CopyFrom(event)
    yield message.SerializeToString()


def _decode_played(data: bytes) -> GameEvent:
    message = pb.FeedPlayed.FromString(data)
    event = message.ply if message.WhichOneof("event") == "ply" else message.snapshot
    return GameEvent(ScheduledGameKey(message.tournament, message.ordinal), event)


def _encode_report(report: CommitReport) -> Iterator[bytes]:
    games: defaultdict[int, list[FinishedGame]] = defaultdict(list)
    for game in report.games:
        games[game.tournament].append(game)
    progress_of = {progress.tournament: progress for progress in report.progress}
    for tournament in progress_of.keys() | games.keys():
        parts = list(_parts(games[tournament])) or [[]]
        for number, part in enumerate(parts, 1):
            message = pb.GamesCommitted(seconds=report.seconds)
            # Only the last part has the progress: a receiver of the progress then has all games.
            progress = progress_of.get(tournament) if number == len(parts) else None
            _fill(message.tournaments.add(tournament=tournament), part, progress)
            yield message.SerializeToString()


def _parts(games: list[FinishedGame]) -> Iterator[list[FinishedGame]]:
    """Divide games into parts for one message each: `_MOST_GAMES` at most, and about `_MOST_BYTES` at most."""
    for start in range(0, len(games), _MOST_GAMES):
        part = games[start : start + _MOST_GAMES]
        size = sum(len(game.moves) + len(game.times) for game in part)
        pieces = max(1, ceil(size / _MOST_BYTES))
        games_per_piece = ceil(len(part) / pieces)
        for begin in range(0, len(part), games_per_piece):
            yield part[begin : begin + games_per_piece]


def _fill(message: pb.CommittedTournament, games: list[FinishedGame], progress: TournamentProgress | None) -> None:
    if progress is not None:
        message.progress = True
        message.name = progress.name
        message.games_done = progress.games_done
        message.games_total = progress.games_total
        message.finished = progress.finished
        for withdrawal in progress.withdrawn:
            message.withdrawn.add(entry=withdrawal.entry, label=withdrawal.label, reason=withdrawal.reason)
    message.ordinal.extend([game.ordinal for game in games])
    message.attempt.extend([game.attempt for game in games])
    message.first.extend([game.first for game in games])
    message.second.extend([game.second for game in games])
    message.result.extend([game.result for game in games])
    message.termination.extend([game.termination for game in games])
    message.moves.extend([game.moves for game in games])
    message.times.extend([game.times for game in games])
    for index, game in enumerate(games):
        if game.fault:
            message.faulted.append(index)
            message.fault.append(game.fault)


def _decode_report(data: bytes) -> CommitReport:
    message = pb.GamesCommitted.FromString(data)
    report = CommitReport(seconds=message.seconds)
    for part in message.tournaments:
        games = [
            FinishedGame(
                tournament=part.tournament,
                ordinal=ordinal,
                attempt=attempt,
                first=first,
                second=second,
                result=result,
                termination=termination,
                moves=moves,
                times=times,
            )
            for ordinal, attempt, first, second, result, termination, moves, times in zip(
                part.ordinal,
                part.attempt,
                part.first,
                part.second,
                part.result,
                part.termination,
                part.moves,
                part.times,
                strict=True,
            )
        ]
        for index, fault in zip(part.faulted, part.fault, strict=True):
            games[index] = games[index]._replace(fault=fault)
        report.games += games
        if part.progress:
            withdrawn = tuple(Withdrawal(row.entry, row.label, row.reason) for row in part.withdrawn)
            progress = TournamentProgress(
                tournament=part.tournament,
                name=part.name,
                games_done=part.games_done,
                games_total=part.games_total,
                finished=part.finished,
                withdrawn=withdrawn,
            )
            report.progress.append(progress)
    return report


def _encode_request(request: AnalysisRequest) -> Iterator[bytes]:
    game = request.game
    message = pb.AnalysisRequested(
        caller=request.caller,
        tournament=game.tournament_id,
        ordinal=game.ordinal,
        variant=game.variant,
        moves=game.moves,
        first_chosen=game.first_chosen,
        counts=game.counts,
    )
    yield message.SerializeToString()


def _decode_request(data: bytes) -> AnalysisRequest:
    message = pb.AnalysisRequested.FromString(data)
    game = GameToAnalyse(
        tournament_id=message.tournament,
        ordinal=message.ordinal,
        variant=message.variant,
        moves=tuple(message.moves),
        first_chosen=message.first_chosen,
        counts=message.counts,
    )
    return AnalysisRequest(message.caller, game)


_TOURNAMENT = Codec(
    lambda tournament: iter((pb.TournamentChanged(tournament=tournament).SerializeToString(),)),
    lambda data: pb.TournamentChanged.FromString(data).tournament,
)
_CODECS = {
    TO_SERVER: _plain(pb.ClusterAsks),
    TO_REFEREE: _plain(pb.ClusterAnswers),
    SERVERS: _plain(pb.ServerPresence),
    REFEREES: _plain(pb.RefereePresence),
    OFFERS: _plain(pb.RefereePresence),
    WANTS: _plain(pb.FeedWants),
    CHANGED: _TOURNAMENT,
    ABANDONED: _TOURNAMENT,
    CONCEDED: _TOURNAMENT,
    PLAYED: Codec(_encode_played, _decode_played),
    COMMITTED: Codec(_encode_report, _decode_report),
    PROGRESSED: Codec(_encode_report, _decode_report),
    REQUESTED: Codec(_encode_request, _decode_request),
}
