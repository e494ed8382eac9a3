"""What follows from the games of finished tournaments: computed once, because a finished tournament does not change."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.convert.tournaments import story_message, winners_of
from noughts_server.store.engine.database import Connection
from noughts_server.store.engine.schema import TournamentState
from noughts_server.store.games.standings import standings
from noughts_server.store.tournaments.stories import read_story
from noughts_server.store.tournaments.tournaments import Tournament

_MOST_STORIES = 256
_MOST_WINNERS = 4_096

Kept = TypeVar("Kept")


class FinishedTournaments:
    """The winners and the stories of finished tournaments. The newest results are kept."""

    def __init__(self) -> None:
        self._stories: _Newest[pb.TournamentStory | None] = _Newest(_MOST_STORIES)
        self._winners: _Newest[list[str]] = _Newest(_MOST_WINNERS)

    def winners(self, connection: Connection, tournament: Tournament) -> list[str]:
        """Return the labels of the winners (see `winners_of`); empty if the tournament is not finished."""
        if tournament.state is not TournamentState.FINISHED:
            return []
        return self._winners.get(
            _version(tournament), lambda: winners_of(tournament, standings(connection, tournament))
        )

    def story(self, connection: Connection, tournament: Tournament) -> pb.TournamentStory | None:
        """Return the story; None if the tournament is not finished, or has too many games."""
        if tournament.state is not TournamentState.FINISHED:
            return None

        def compute() -> pb.TournamentStory | None:
            table = standings(connection, tournament)
            story = read_story(connection, tournament, table)
            is_bracket = tournament.settings.schedule.places_by_bracket
            return None if story is None else story_message(story, table, is_bracket=is_bracket)

        return self._stories.get(_version(tournament), compute)


def _version(tournament: Tournament) -> Hashable:
    """Return what changes if a finished tournament is extended and finishes again."""
    return tournament.id, tournament.ended_at, tournament.games_done


class _Newest(Generic[Kept]):
    """The newest computed values. Threads can compute a value twice, which changes nothing."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, Kept] = OrderedDict()

    def get(self, key: Hashable, compute: Callable[[], Kept]) -> Kept:
        """Return the value of this key, which `compute` computes if it is missing."""
        if key not in self._values:
            self._values[key] = compute()
        value = self._values[key]
        while len(self._values) > self._most:
            self._values.popitem(last=False)
        return value
