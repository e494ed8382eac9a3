"""`learner`: plays by a table whose ratings it corrects after every game."""

import time
from pathlib import Path

from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.candidate_bot import Evaluation, best_of
from noughts_bots.reference.learning import UNTRIED, learn
from noughts_bots.reference.locked_file import LockedFile
from noughts_bots.reference.positions import LARGEST_BOARD, require_small
from noughts_bots.reference.table import wrong_variant
from noughts_bots.reference.table_file import TableFile, load, save
from noughts_bots.sdk.bot import GameEnd, GameInfo
from noughts_bots.sdk.errors import TableError
from noughts_referee.rules import ON_THE_BOARD, Position, Variant

_SAVE_SECONDS = 1.0

_COMMENTS = ("a learner's: `noughts bot learn` writes it, docs/reference/tables.md says what is in it",)


class Learner(CachingBot):
    """Plays one of the highest rated cells of its table. With `learn`, it corrects the table after every game.

    It learns only from games that ended on the board, and not from forfeited ones. It saves the table at most once a
    second, and when it is closed. It does not explore; `noughts bot learn` does.

    Source: article 000, last part: a table in a file that the program corrects by the results of its games. The article
    does not say how the program corrects it; see `noughts_bots.reference.learning`.

    Args:
        file: the table, which is read now. A relative path starts from the working directory.
        learn: whether the bot continues to learn. It then begins a new table for its first variant if the file is
            missing.

    Raises:
        TableError: the file is missing, damaged, or not a learner's.
    """

    name = "learner"
    boards = f"the variant of its file, of at most {LARGEST_BOARD} cells"
    heeds_forbidden_moves = True

    def __init__(self, file: Path, *, learn: bool = False) -> None:
        super().__init__()
        self.file = file
        self.learns = learn
        if learn:
            self.changes = "what it has learnt so far (learn=true)"
        self.table: TableFile | None = None
        """The table; None if the file is missing, until the first game."""
        self._running: dict[str, int] = {}
        """For each running game, the number of moves before the learner received it. It does not learn from these."""
        self._lock: LockedFile | None = None
        self._saved = time.monotonic()
        self._unsaved = False
        if not learn or file.exists():
            self._adopt(load_learnt(file))

    def plays(self, variant: Variant) -> bool:
        return self.table is None or variant is self.table.variant

    def require(self, variant: Variant) -> None:
        require_small(f"bot '{self.name}'", variant)
        if self.table is not None and not self.plays(variant):
            raise wrong_variant(self.name, self.file, variant, self.table.variant)

    def consider(self, position: Position) -> Evaluation:
        if self.table is None or position.variant is not self.table.variant:
            self.require(position.variant)
        return super().consider(position)

    def work_out(self, position: Position) -> Evaluation:
        row = self.table.rows.get((position.own, position.opponent)) if self.table else None
        free = position.free
        return best_of(dict.fromkeys(free, UNTRIED) if row is None else {cell: row.ratings[cell] for cell in free})

    @property
    def busy(self) -> bool:
        """Return whether the bot waits for the end of a game from which it learns."""
        return bool(self._running)

    def prepare(self) -> None:
        if self.learns and self._lock is None:
            self._lock = LockedFile(self.file)
            if self.file.exists():
                # Another process can have learnt more in the meantime.
                self._adopt(load_learnt(self.file))

    def start(self, game: GameInfo) -> None:
        if self.learns:
            self.prepare()
            self._running.setdefault(game.name, game.moves_before)

    def end(self, game: GameInfo, end: GameEnd) -> None:
        if not self.learns:
            return
        before = self._running.pop(game.name, 0)
        if end.termination in ON_THE_BOARD and self.plays(game.variant):
            first_own_ply = before + (before + game.side) % 2
            self.correct(game.variant, end.moves, range(first_own_ply, len(end.moves), 2))
        self.save_if_due()

    @property
    def games(self) -> int:
        """Return the number of games from which the table has learnt."""
        return (self.table.games or 0) if self.table is not None else 0

    def begin(self, variant: Variant) -> None:
        """Begin a table of the variant, unless there is one."""
        if self.table is None:
            self._adopt(TableFile(variant, games=0))

    def correct(self, variant: Variant, moves: tuple[int, ...], counted: range) -> None:
        """Learn from a game; see `noughts_bots.reference.learning.learn`."""
        self.begin(variant)
        assert self.table is not None
        for own, opponent in learn(self.table, moves, counted):
            self.forget(variant, own, opponent)
        self._unsaved = True

    def close(self) -> None:
        if self._lock is not None:
            self.save()
            self._lock.release()
            self._lock = None

    def save(self) -> None:
        """Write the table if it has changed."""
        if self._unsaved and self.table is not None:
            save(self.file, self.table, comments=_COMMENTS)
            self._unsaved = False
        self._saved = time.monotonic()

    def save_if_due(self) -> None:
        """Save the table, unless the last save was less than a second ago."""
        if time.monotonic() - self._saved >= _SAVE_SECONDS:
            self.save()

    def _adopt(self, table: TableFile) -> None:
        self.table = table
        self._cache.clear()
        self.variants = (table.variant.name,)


def load_learnt(file: Path) -> TableFile:
    """Return a learner's table. Raises TableError for an invalid file, and for a table that is not a learner's."""
    table = load(file)
    if table.games is None or any(not row.visits for row in table.rows.values()):
        advice = "play it as `table:file=...`, or begin another file with `noughts bot learn -o FILE`"
        raise TableError(f"learner {file}", "a table without `games` and visits", "a learner's table", advice)
    return table
