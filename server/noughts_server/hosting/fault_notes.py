"""Store the stderr output of submitted bots with the games that they lost by a fault."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from noughts_referee.children.child_player import Fault
from noughts_referee.game import LostGame
from noughts_referee.rules import FORFEITS_WHILE_ONLINE
from noughts_referee.work_units import FinishedGame
from noughts_server.core.errors import NoughtsError
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.games.notes import (
    GameNote,
    add_faults,
    add_notes,
    has_crashed,
    losing_versions,
    notes_of_process,
    output_until,
)
from noughts_server.store.games.results import CommitReport

MOST_NOTES = 10
"""Limit of the notes of a bot in a tournament: a bot that fails in each game usually fails in the same way."""
LONGEST_OUTPUT = 16 * 1024
"""Characters of the end of a process's stderr that a note keeps."""
_MOST_WAITING = 1_000
"""Limit of the losses that wait for the commits of their games."""
_MOST_COUNTED = 10_000
"""Limit of the remembered counts of notes."""
_MOST_ATTEMPTS = 30
"""Attempts to save a note. A game that is not stored after all of them was played again."""


@dataclass(slots=True)
class _ProcessLoss:
    """A game that a bot lost because its process ended."""

    note: GameNote
    reason: str
    attempts: int = 0


class FaultNotes:
    """Collects the notes on the games of submitted bots; `try_to_save` stores them. Use it from one event loop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._counts: Counter[tuple[int, int]] = Counter()
        """The notes by tournament and bot version."""
        self._lost_with_process: list[_ProcessLoss] = []
        self._outlived: list[FinishedGame] = []
        """Games lost by faults that did not end the process. The entry that lost each one is not known yet."""

    @property
    def are_saved(self) -> bool:
        return not self._lost_with_process and not self._outlived

    def note_end(self, version: int, fault: Fault) -> None:
        """Remember the end of a process of this bot version, with the games that it lost."""
        reason = fault.death.reason
        output = fault.death.stderr[-LONGEST_OUTPUT:]
        games_by_tournament: defaultdict[int, list[LostGame]] = defaultdict(list)
        for game in fault.games:
            if self._has_room(game.tournament, version):
                games_by_tournament[game.tournament].append(game)
        for games in games_by_tournament.values():
            for note in notes_of_process(games, reason, f"it {reason}\n{output}".rstrip()):
                if len(self._lost_with_process) < _MOST_WAITING:
                    self._lost_with_process.append(_ProcessLoss(note, reason))

    def note_commit(self, report: CommitReport) -> None:
        """Remember this commit's games that a bot lost by a fault without the end of its process."""
        for game in report.games:
            if game.fault and game.termination in FORFEITS_WHILE_ONLINE and len(self._outlived) < _MOST_WAITING:
                self._outlived.append(game)

    async def try_to_save(self, stderr_of: Callable[[int], str]) -> None:
        """Store the notes on the games that are stored. If the database is unavailable, a later call stores them.

        `stderr_of` returns the stderr output of a bot version's running process, or an empty text without a process.
        """
        losses, self._lost_with_process = self._lost_with_process, []
        outlived, self._outlived = self._outlived, []
        counts = self._counts.copy()  # a later call counts these games again
        try:
            versions = await self._store.read(partial(losing_versions, games=outlived)) if outlived else []
            notes = self._notes_on(zip(outlived, versions, strict=True), stderr_of)
            if notes or losses:
                losses = await self._store.write(partial(_add, notes=notes, losses=losses))
            for loss in losses:
                loss.attempts += 1
            self._lost_with_process += [loss for loss in losses if loss.attempts < _MOST_ATTEMPTS]
        except NoughtsError:
            self._counts = counts
            self._lost_with_process += losses
            self._outlived += outlived

    def _notes_on(
        self, games: Iterable[tuple[FinishedGame, int | None]], stderr_of: Callable[[int], str]
    ) -> list[GameNote]:
        notes = []
        for game, version in games:
            output = stderr_of(version)[-LONGEST_OUTPUT:] if version is not None else ""
            if version is not None and output and self._has_room(game.tournament, version):
                text = f"it {game.fault}\n{output_until(output, game.fault)}"
                notes.append(GameNote(game.tournament, game.ordinal, 1 if game.outcome.loser else 0, text))
        return notes

    def _has_room(self, tournament: int, version: int) -> bool:
        """Return whether the bot can have one more note in this tournament, and count it."""
        if len(self._counts) > _MOST_COUNTED:
            self._counts.clear()
        has_room = self._counts[tournament, version] < MOST_NOTES
        self._counts[tournament, version] += has_room
        return has_room


def _add(connection: Connection, notes: list[GameNote], losses: list[_ProcessLoss]) -> list[_ProcessLoss]:
    """Store the notes, and return the losses whose games are not stored yet."""
    add_notes(connection, notes)
    stored: list[_ProcessLoss] = []
    waiting: list[_ProcessLoss] = []
    for loss in losses:
        (stored if has_crashed(connection, loss.note) else waiting).append(loss)
    add_notes(connection, [loss.note for loss in stored])
    for loss in stored:
        add_faults(connection, loss.note.tournament, {loss.note.ordinal: loss.reason})
    return waiting
