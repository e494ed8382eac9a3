"""The bracket of a knockout, as it follows from the stored games."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sqlalchemy import Connection

from noughts_server.competition.knockout import Decision, bracket
from noughts_server.competition.schedule import ScheduleKind
from noughts_server.store.tournaments import Tournament
from noughts_server.store.waves import read_field, tournament_row


class BracketMatch(NamedTuple):
    """One place of the bracket. Labels are None where they are not known yet."""

    round: int
    """From 1."""
    first: str | None
    second: str | None
    """None in the first round: the other has a bye."""
    first_points: float
    second_points: float
    games: int
    winner: str | None
    decision: Decision | None
    """None: it is not over."""


class StoredBracket:
    """The matches of a knockout that has begun; of any other tournament there are none."""

    def __init__(self, connection: Connection, tournament: Tournament) -> None:
        knockout = tournament.settings.schedule is ScheduleKind.KNOCKOUT and tournament.games_total
        row = tournament_row(connection, tournament.id)
        self._rounds = bracket(read_field(connection, row)).rounds if knockout else ()

    def won(self) -> Counter[int]:
        """How far each entry has come: matches won, byes included."""
        matches = (match for matches in self._rounds for match in matches)
        return Counter(match.winner for match in matches if match.winner is not None)

    def named(self, labels: Mapping[int, str]) -> Iterator[BracketMatch]:
        """All matches, by the labels of the entries; who has a bye stands first."""
        for matches in self._rounds:
            for match in matches:
                entries = (match.first, match.second, match.winner)
                first, second, winner = (None if entry is None else labels[entry] for entry in entries)
                if match.decision is Decision.BYE:
                    first, second = winner, None
                points = (match.first_points, match.second_points)
                yield BracketMatch(match.round, first, second, *points, match.games, winner, match.decision)
