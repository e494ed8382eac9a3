"""Faults of the bots in a local tournament. Each distinct fault is reported once, and stored with its games."""

from collections.abc import Callable
from dataclasses import replace

from noughts_bots.reference.specs import unique_labels
from noughts_referee.children.child_player import Fault
from noughts_referee.game import LostGame
from noughts_referee.rules import FORFEITS_WHILE_ONLINE, Termination, parse_variant
from noughts_referee.work_units import FinishedGame, unpack_moves
from noughts_server.local.plan import FaultyGame, LocalFault, LocalPlan
from noughts_server.runtime.recorder import COMMITTED
from noughts_server.server import Server
from noughts_server.store.engine.database import Connection
from noughts_server.store.games.notes import GameNote, add_faults, add_notes, notes_of_process, output_until
from noughts_server.store.games.results import CommitReport

_MOST_NOTES = 100
"""Limit of the notes for one bot: a bot that crashes in each of a million games usually has the same reason."""
_ANSWERED = "the program answered"
"""The beginning of a message from a program's host that quotes an invalid line. These count as one reason."""
_MOST_REASONS = 20
"""Limit of the different reasons for one bot."""
_OTHER_REASONS = "failed in other ways"
_MOST_AFTERWARDS = 100_000
"""Limit of the games whose reasons are added after the games were stored."""


class LocalFaults:
    """Counts the faults of all kinds of bots, from the stored games and the ends of children."""

    def __init__(self, server: Server, plan: LocalPlan, stderr_of: Callable[[str], str | None]) -> None:
        """Count from now on. `stderr_of` returns the stderr of the running child of a label; None without a child."""
        self._server = server
        self._variant = plan.settings.variant
        self._labels = unique_labels(plan.specs)
        self._stderr_of = stderr_of
        self._faults: dict[tuple[str, str], LocalFault] = {}
        """The faults by label and reason."""
        self._notes: dict[str, list[GameNote]] = {}
        self._afterwards: dict[int, dict[int, str]] = {}
        """The reasons of losses that were stored without one, by tournament and ordinal of the game."""
        self._lost_in: dict[int, tuple[tuple[str, str], bool]] = {}
        """Games lost by a fault, by ordinal: the fault, and whether it is the first that this occurrence lost."""
        self._unsubscribe = server.bus.subscribe(COMMITTED, self._count_commit)

    @property
    def all_faults(self) -> tuple[LocalFault, ...]:
        """Return the faults so far, ordered by the first occurrence of each kind."""
        return tuple(self._faults.values())

    async def finish(self, is_stored: Callable[[int], bool]) -> None:
        """Stop counting after the last game, and store the reasons and the notes.

        `is_stored` returns whether the game with this number is stored: a match does not keep the games after the
        decision of its test. Faults in games that are not stored are subtracted.
        """
        self._unsubscribe()
        for ordinal, (key, first) in self._lost_in.items():
            if not is_stored(ordinal):
                self._uncount(key, ordinal, first=first)
        notes = [note for notes in self._notes.values() for note in notes if is_stored(note.ordinal)]
        if not notes and not self._afterwards:
            return

        def store(connection: Connection) -> None:
            add_notes(connection, notes)
            for tournament, faults in self._afterwards.items():
                add_faults(connection, tournament, faults)

        await self._server.store.write(store)

    def count_death(self, label: str, fault: Fault) -> None:
        """Count the end of a child, and the games that were lost by it."""
        death = fault.death
        counted = self._count(label, death.reason, fault.games, must=fault.disabled)
        counted = replace(
            counted, times=counted.times + 1, disabled=counted.disabled or fault.disabled, stderr=death.stderr
        )
        self._faults[label, counted.reason] = counted
        self._remember((label, counted.reason), fault.games, counts=True)
        self._add_notes(label, fault.games, death.reason, death.text)
        for game in fault.games:
            faults = self._afterwards.setdefault(game.tournament, {})
            if len(faults) < _MOST_AFTERWARDS:
                faults[game.ordinal] = death.reason

    def count_forfeited(self, label: str, games: tuple[LostGame, ...]) -> None:
        """Count games lost by a bot that cannot be started. The note on the first game has the bot's last output."""
        key, fault = next((key, fault) for key, fault in self._faults.items() if key[0] == label and fault.disabled)
        self._faults[key] = replace(fault, games=fault.games + len(games), first=self._first(fault.first, games))
        self._remember(key, games, counts=False)
        self._add_notes(label, games, fault.reason, f"it {fault.reason}\n{fault.stderr}".rstrip())

    def _count_commit(self, report: CommitReport) -> None:
        """Count faults in games after which the bot continued. A resignation counts only if it has a reason."""
        for game in report.games:
            # Almost all games end without a fault.
            if game.fault and game.termination in FORFEITS_WHILE_ONLINE:
                self._count_loss(game)

    def _count_loss(self, game: FinishedGame) -> None:
        outcome = game.outcome
        termination = outcome.termination
        side = 1 if outcome.loser else 0
        # Entries are numbered in the order of the labels.
        label = self._labels[game.second if side else game.first]
        ply = len(unpack_moves(game.moves, parse_variant(self._variant).cells))
        lost_games = (LostGame(game.tournament, game.ordinal, side, ply),)
        # Resignations are counted by reason. Invalid lines, illegal moves and late moves are counted by kind.
        has_own_reason = termination is Termination.RESIGNED and _ANSWERED not in game.fault
        if has_own_reason:
            reason = game.fault
            details = ""
        else:
            is_invalid_line = termination is Termination.RESIGNED
            reason = f"resigned: {_ANSWERED} with an invalid line" if is_invalid_line else termination.deed
            details = game.fault
        counted = self._count(label, reason, lost_games, details)
        stderr = ""
        if not counted.stderr or len(self._notes.get(label, ())) < _MOST_NOTES:
            stderr = self._stderr_of(label) or ""  # the text can have 64 KB
        self._faults[label, counted.reason] = replace(
            counted, times=counted.times + 1, stderr=counted.stderr or output_until(stderr, game.fault)
        )
        self._remember((label, counted.reason), lost_games, counts=True)
        if stderr:
            self._add_notes(label, lost_games, game.fault, f"it {game.fault}\n{stderr}")

    def _count(
        self, label: str, reason: str, games: tuple[LostGame, ...], details: str = "", *, must: bool = False
    ) -> LocalFault:
        """Return the fault with these games added. If the bot has too many, a new reason counts only if `must`."""
        reasons = sum(bot == label for bot, _ in self._faults)
        if not must and (label, reason) not in self._faults and reasons >= _MOST_REASONS:
            reason = _OTHER_REASONS
        counted = self._faults.get((label, reason), LocalFault(label, reason))
        return replace(counted, games=counted.games + len(games), first=self._first(counted.first, games, details))

    def _remember(self, key: tuple[str, str], games: tuple[LostGame, ...], *, counts: bool) -> None:
        """Keep the fault of each game, for `_uncount`. If it `counts`, the first game also counts in `times`."""
        for index, game in enumerate(games[: _MOST_AFTERWARDS - len(self._lost_in)]):
            self._lost_in[game.ordinal] = key, counts and index == 0

    def _uncount(self, key: tuple[str, str], ordinal: int, *, first: bool) -> None:
        """Subtract a game that is not stored, and remove a fault that was in no other game."""
        fault = self._faults[key]
        fault = replace(fault, games=fault.games - 1, times=fault.times - 1 if first else fault.times)
        # `fault.first` is the game of the lowest slot: if that is not stored, none of the games is.
        self._faults[key] = replace(
            fault, first=None if fault.first and fault.first.ordinal == ordinal else fault.first
        )
        if not fault.games and not fault.times and not fault.disabled:
            del self._faults[key]

    def _first(self, earlier: FaultyGame | None, games: tuple[LostGame, ...], details: str = "") -> FaultyGame | None:
        """Return the first game in the order of slots, not of ends: `earlier` or one of `games`."""
        game = min(games, key=lambda lost: lost.ordinal, default=None)
        if game is None or (earlier is not None and earlier.ordinal <= game.ordinal):
            return earlier
        return FaultyGame(
            ordinal=game.ordinal,
            ply=game.ply,
            variant=self._variant,
            side=("first", "second")[game.side],
            details=details,
            moves=game.moves,
        )

    def _add_notes(self, label: str, games: tuple[LostGame, ...], reason: str, text: str) -> None:
        notes = self._notes.setdefault(label, [])
        notes += notes_of_process(games[: max(0, _MOST_NOTES - len(notes))], reason, text)
