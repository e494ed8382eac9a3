"""The bracket or the rounds of a tournament, computed from the stored games."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain

from sqlalchemy import Connection, func, select

from noughts_server.competition.bracket import Decision, Match
from noughts_server.competition.pairing_batch import Field, UnfinishedPairing
from noughts_server.store.engine.schema import byes, pairings
from noughts_server.store.pairing.rounds import read_field, read_pairings, tournament_row
from noughts_server.store.tournaments.tournaments import Tournament
from noughts_server.tables.pairings import MatchRow

_MOST_PAIRINGS = 20_000
"""Limit of the pairings in one message."""


def matches_of(connection: Connection, tournament: Tournament) -> list[Match[int]]:
    """Return the matches of a started tournament whose format has a bracket, round by round."""

    def read() -> Field:
        return read_field(connection, tournament_row(connection, tournament.id))

    return list(chain(*tournament.settings.schedule.bracket(read))) if tournament.games_total else []


def matches_won(connection: Connection, tournament: Tournament) -> Counter[int]:
    """Return the number of matches that each entry won, including byes."""
    winners = (match.winner for match in matches_of(connection, tournament))
    return Counter(winner for winner in winners if winner is not None)


def listed_matches(connection: Connection, tournament: Tournament, labels: Mapping[int, str]) -> Iterator[MatchRow]:
    """Yield all matches with the labels of the entries; an entry with a bye comes first."""
    for match in matches_of(connection, tournament):
        first = None if match.first is None else labels[match.first]
        second = None if match.second is None else labels[match.second]
        winner = None if match.winner is None else labels[match.winner]
        is_bye = match.decision is Decision.BYE
        yield MatchRow(
            round=match.round,
            first=winner if is_bye else first,
            second=None if is_bye else second,
            first_points=match.first_points,
            second_points=match.second_points,
            games=match.games,
            winner=winner,
            decision=match.decision,
            games_left=match.games_left,
            next_game=match.next_game,
        )


def listed_rounds(connection: Connection, tournament: Tournament, labels: Mapping[int, str]) -> Iterator[MatchRow]:
    """Yield the pairings by round, with labels of entries; of very many only the newest.

    Only formats that pair by points list their rounds.
    """
    if not tournament.settings.schedule.by_points or not tournament.games_total:
        return
    of_tournament = pairings.c.tournament_id == tournament.id
    newest = connection.execute(select(func.max(pairings.c.round)).where(of_tournament)).scalar()
    most_rounds = max(1, 2 * _MOST_PAIRINGS // len(labels))  # a round has a pairing for every two entries
    from_round = max(1, (newest or 1) - most_rounds + 1)
    of_rounds = byes.c.round >= from_round
    bye_rows = connection.execute(
        select(byes.c.round, byes.c.entry).where(byes.c.tournament_id == tournament.id, of_rounds)
    )
    rounds: defaultdict[int, list[MatchRow]] = defaultdict(list)
    for pairing in read_pairings(connection, tournament.id, from_round):
        unfinished = pairing if isinstance(pairing, UnfinishedPairing) else None
        played = pairing.so_far if isinstance(pairing, UnfinishedPairing) else pairing
        lead = played.first_points - played.second_points
        winner = None
        if lead and not unfinished:
            winner = labels[played.first if lead > 0 else played.second]
        row = MatchRow(
            round=played.round,
            first=labels[played.first],
            second=labels[played.second],
            first_points=played.first_points,
            second_points=played.second_points,
            games=played.games,
            winner=winner,
            decision=None if unfinished else Decision.POINTS,
            games_left=unfinished.games_left if unfinished else 0,
            next_game=unfinished.next_game if unfinished else 0,
        )
        rounds[played.round].append(row)
    for number, entry in bye_rows:
        label = labels[entry]
        rounds[number].append(MatchRow(round=number, first=label, second=None, winner=label, decision=Decision.BYE))
    for number in sorted(rounds):
        yield from rounds[number]
