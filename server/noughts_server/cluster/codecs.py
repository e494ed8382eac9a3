"""Codecs of the bus's subjects: they convert values of the server's parts to messages on the network, and back."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from noughts_proto.v1 import cluster_pb2 as pb
from noughts_referee.work_units import FinishedGame
from noughts_server.feed.observer import PLAYED, GameEvent, SlotKey
from noughts_server.runtime.recorder import COMMITTED
from noughts_server.runtime.tournament_play import ABANDONED, CHANGED, CONCEDED
from noughts_server.store.games.results import CommitReport, TournamentProgress
from noughts_server.store.tournaments.withdrawals import Withdrawal

TO_SERVER, TO_REFEREE = "asks", "answers"
"""First words of subjects whose second is a node's name: `pb.ClusterAsks`, `pb.ClusterAnswers`."""
SERVERS, REFEREES, WANTS = "servers", "referees", "wants"
"""`pb.ServerPresence`, `pb.RefereePresence`, `pb.FeedWants`."""

# NATS takes a megabyte unless it is configured otherwise.
_MOST_GAMES = 2_000
_MOST_BYTES = 500_000


class Codec(NamedTuple):
    """The conversion of a subject's values."""

    encode: Callable[[Any], Iterator[bytes]]
    """Encodes a value as one message or several."""
    decode: Callable[[bytes], Any]


def codec(subject: str) -> Codec | None:
    """Return the codec of a subject. None: its values stay in their process."""
    return _CODECS.get(subject.partition(":")[0])


def _plain(kind: type[Any]) -> Codec:
    return Codec(lambda message: iter((message.SerializeToString(),)), kind.FromString)


def _encode_played(played: GameEvent) -> Iterator[bytes]:
    slot, event = played
    message = pb.FeedPlayed(tournament=slot.tournament, ordinal=slot.ordinal)
    # Only one of the two is set; each has its own field.
    field = message.ply if event.DESCRIPTOR is message.ply.DESCRIPTOR else message.snapshot
    field.CopyFrom(event)  # type: ignore[arg-type]
    yield message.SerializeToString()


def _decode_played(data: bytes) -> GameEvent:
    message = pb.FeedPlayed.FromString(data)
    event = message.ply if message.WhichOneof("event") == "ply" else message.snapshot
    return GameEvent(SlotKey(message.tournament, message.ordinal), event)


def _encode_report(report: CommitReport) -> Iterator[bytes]:
    games: defaultdict[int, list[FinishedGame]] = defaultdict(list)
    for game in report.games:
        games[game.tournament].append(game)
    progress = {each.tournament: each for each in report.progress}
    for tournament in progress.keys() | games.keys():
        parts = list(_parts(games[tournament])) or [[]]
        for number, part in enumerate(parts, 1):
            message = pb.GamesCommitted(seconds=report.seconds)
            # The numbers come last, so that a reader who has them has all games.
            _fill(message.tournaments.add(tournament=tournament), part, progress if number == len(parts) else {})
            yield message.SerializeToString()


def _parts(games: list[FinishedGame]) -> Iterator[list[FinishedGame]]:
    rest = iter(games)
    while part := list(islice(rest, _MOST_GAMES)):
        size = sum(len(game.moves) + len(game.times) for game in part)
        pieces = -(-size // _MOST_BYTES) or 1
        each = -(-len(part) // pieces)
        yield from (part[begin : begin + each] for begin in range(0, len(part), each))


def _fill(message: pb.CommittedTournament, games: list[FinishedGame], progress: dict[int, TournamentProgress]) -> None:
    known = progress.get(message.tournament)
    if known is not None:
        message.progress = True
        message.name, message.games_done, message.games_total = known.name, known.games_done, known.games_total
        message.finished = known.finished
        for left in known.withdrawn:
            message.withdrawn.add(entry=left.entry, label=left.label, reason=left.reason)
    message.ordinal.extend([game.ordinal for game in games])
    message.attempt.extend([game.attempt for game in games])
    message.first.extend([game.first for game in games])
    message.second.extend([game.second for game in games])
    message.result.extend([game.result for game in games])
    message.termination.extend([game.termination for game in games])
    message.moves.extend([game.moves for game in games])
    message.times.extend([game.times for game in games])
    for row, game in enumerate(games):
        if game.fault:
            message.faulted.append(row)
            message.fault.append(game.fault)


def _decode_report(data: bytes) -> CommitReport:
    message = pb.GamesCommitted.FromString(data)
    report = CommitReport(seconds=message.seconds)
    for each in message.tournaments:
        games = [
            FinishedGame(
                tournament=each.tournament,
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
                each.ordinal,
                each.attempt,
                each.first,
                each.second,
                each.result,
                each.termination,
                each.moves,
                each.times,
                strict=True,
            )
        ]
        for row, fault in zip(each.faulted, each.fault, strict=True):
            games[row] = games[row]._replace(fault=fault)
        report.games += games
        if each.progress:
            withdrawn = tuple(Withdrawal(one.entry, one.label, one.reason) for one in each.withdrawn)
            progress = TournamentProgress(
                tournament=each.tournament,
                name=each.name,
                games_done=each.games_done,
                games_total=each.games_total,
                finished=each.finished,
                withdrawn=withdrawn,
            )
            report.progress.append(progress)
    return report


_TOURNAMENT = Codec(
    lambda tournament: iter((pb.TournamentChanged(tournament=tournament).SerializeToString(),)),
    lambda data: pb.TournamentChanged.FromString(data).tournament,
)
_CODECS = {
    TO_SERVER: _plain(pb.ClusterAsks),
    TO_REFEREE: _plain(pb.ClusterAnswers),
    SERVERS: _plain(pb.ServerPresence),
    REFEREES: _plain(pb.RefereePresence),
    WANTS: _plain(pb.FeedWants),
    CHANGED: _TOURNAMENT,
    ABANDONED: _TOURNAMENT,
    CONCEDED: _TOURNAMENT,
    PLAYED: Codec(_encode_played, _decode_played),
    COMMITTED: Codec(_encode_report, _decode_report),
}
