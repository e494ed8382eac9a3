"""Withdrawals from a started tournament: on request, or because an entry fails too often."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, and_, func, or_, select, update

from noughts_referee.rules import FAULTS, Result, Termination
from noughts_referee.work_units import FinishedGame
from noughts_server.store.engine.schema import entries, games
from noughts_server.store.people.webhooks import report_event
from noughts_server.store.tournament_options import read_settings
from noughts_server.store.tournaments.reasons import shortened_reason
from noughts_server.tables.standings import ON_REQUEST


class Withdrawal(NamedTuple):
    """An entry that was withdrawn, and why."""

    entry: int
    label: str
    reason: str


def withdraw(
    connection: Connection, tournament_id: int, numbers: Iterable[int], reason: str, *, now_ms: int
) -> list[Withdrawal]:
    """Withdraw those of the entries that are not withdrawn yet, and return them."""
    reason = shortened_reason(reason)
    condition = and_(
        entries.c.tournament_id == tournament_id, entries.c.number.in_(list(numbers)), entries.c.withdrawn_at.is_(None)
    )
    rows = connection.execute(select(entries.c.number, entries.c.label).where(condition)).all()
    if rows:
        # The order of withdrawals can decide a knockout, so it must not change if the clock is set back.
        newest = select(func.max(entries.c.withdrawn_at)).where(entries.c.tournament_id == tournament_id)
        now_ms = max(now_ms, (connection.scalar(newest) or 0) + 1)
        connection.execute(
            update(entries).where(condition).values(withdrawn_at=now_ms, withdrawn_reason=reason or None)
        )
    for number, label in rows:
        facts = {"entry": label, "reason": reason or ON_REQUEST}
        report_event(connection, "bot.withdrawn", tournament_id, now_ms, only=number, **facts)
    return [Withdrawal(row.number, row.label, reason) for row in rows]


def withdraw_failing(
    connection: Connection, tournament: Row[Any], stored: Sequence[FinishedGame], *, now_ms: int
) -> list[Withdrawal]:
    """Withdraw entries whose losses through their own fault have reached the limit of the tournament."""
    limit = read_settings(tournament).forfeit_after
    if not limit:
        return []
    faults = (game for game in stored if game.termination in FAULTS)
    failing = {game.second if game.result == Result.FIRST_WINS else game.first for game in faults}
    withdrawals: list[Withdrawal] = []
    for entry in sorted(failing):
        counts = _faults(connection, tournament.id, entry)
        if counts.total() >= limit:
            kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
            lost = "1 game" if counts.total() == 1 else f"{counts.total()} games"
            reason = f"lost {lost} through its own fault ({kinds})"
            withdrawals += withdraw(connection, tournament.id, [entry], reason, now_ms=now_ms)
    return withdrawals


def _faults(connection: Connection, tournament_id: int, entry: int) -> Counter[str]:
    lost = or_(
        and_(games.c.first_entry == entry, games.c.result == Result.SECOND_WINS),
        and_(games.c.second_entry == entry, games.c.result == Result.FIRST_WINS),
    )
    faults = (games.c.tournament_id == tournament_id, games.c.termination.in_(list(FAULTS)), lost)
    statement = select(games.c.termination, func.count()).where(*faults).group_by(games.c.termination)
    return Counter({Termination(termination).words: count for termination, count in connection.execute(statement)})
