"""The boards of running games as arrays, for an `ArrayBot`."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from noughts_bots.boards.interface import Answers, Choice, Questions, ReportResignation
from noughts_bots.sdk.arrays import RESIGN, ArrayBot, Batch, read_cells
from noughts_bots.sdk.bot import Resign
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.rules import OFF_BOARD, Variant

_FEWEST_ROWS = 16
"""The least number of rows by which the arrays grow."""
_NO_LIMIT = np.iinfo(np.int64).max
_FIELDS = range(8)
_VARIANT, _SIDE, _NEW, _SEED, _COUNT, _OWN_CLOCK, _OPPONENT_CLOCK, _MOVE_LIMIT = _FIELDS
"""The fields of a game. `_COUNT` is the number of known moves, including the bot's last answer."""

_Numbers = npt.NDArray[np.int64]


class ArrayBoards:
    """See `Boards`. A running game has a number, its row, which is its index in all arrays."""

    def __init__(self, bot: ArrayBot) -> None:
        self._bot = bot
        self._variants: list[Variant] = []
        """The variants of all games so far. Games refer to them by index."""
        self._rows: dict[int, int] = {}
        """The rows of running games by handle."""
        self._free_rows: list[int] = []
        self._games = np.zeros((len(_FIELDS), 0), np.int64)
        """The fields of the games, by field and then by the game's row."""
        self._boards = np.zeros((0, 0), np.int8)
        """One row for each game, as wide as the largest board: 0 free, 1 the bot's stone, 2 the opponent's."""
        self._moves = np.zeros((0, 0), np.int64)
        """The moves of each game, in rows as wide as the boards."""

    def start(self, variant: Variant, starts: pb.Starts) -> None:
        if variant not in self._variants:
            self._variants.append(variant)
        handles = starts.game[:]
        self._make_room(len(handles), variant.cells)
        new_rows = [self._free_rows.pop() for _ in handles]
        self._rows.update(zip(handles, new_rows, strict=True))
        rows = np.array(new_rows, np.int64)
        limits = starts.time
        games = self._games
        games[_VARIANT][rows] = self._variants.index(variant)
        games[_SIDE][rows] = np.array(starts.side[:], np.int64) - 1
        games[_NEW][rows] = True
        games[_SEED][rows] = np.array(starts.seed[:], np.uint64).view(np.int64)
        games[_COUNT][rows] = starts.move_count[:]
        games[_OWN_CLOCK:_MOVE_LIMIT, rows] = 0
        games[_MOVE_LIMIT][rows] = limits.move_us if limits.bank_us and limits.move_us else _NO_LIMIT
        self._boards[rows] = 0
        if starts.moves:
            self._replay(rows, np.array(starts.moves[:], np.int64))

    def _make_room(self, games: int, cells: int) -> None:
        """Enlarge the arrays, if needed, for this number of further games on boards of this number of cells."""
        rows, width = self._boards.shape
        missing = games - len(self._free_rows)
        added_rows = max(missing, rows, _FEWEST_ROWS) if missing > 0 else 0
        added_cells = max(cells - width, 0)
        if added_rows or added_cells:
            self._games = np.pad(self._games, ((0, 0), (0, added_rows)))
            self._boards = np.pad(self._boards, ((0, added_rows), (0, added_cells)))
            self._moves = np.pad(self._moves, ((0, added_rows), (0, added_cells)))
        # `pop` takes the last element, so the lowest of the new rows is used first.
        self._free_rows.extend(reversed(range(rows, rows + added_rows)))

    def _replay(self, rows: _Numbers, moves: _Numbers) -> None:
        """Place all moves of these games on empty boards. `moves` has the moves of one game after another."""
        counts = self._games[_COUNT][rows]
        first_moves = counts.cumsum() - counts
        plies = np.arange(len(moves)) - np.repeat(first_moves, counts)
        row_of_move = np.repeat(rows, counts)
        self._moves[row_of_move, plies] = moves
        # 1 for a move of the bot's side, 2 for one of the opponent.
        self._boards[row_of_move, moves] = 1 + (plies + self._games[_SIDE][row_of_move]) % 2

    def read_questions(self, turns: pb.Turns) -> Questions:
        columns = [turns.game[:], turns.ply[:], turns.cell[:]]
        if turns.own_clock_us:
            columns += [turns.own_clock_us[:], turns.opponent_clock_us[:]]
        row_of = self._rows
        try:
            rows = np.fromiter(map(row_of.__getitem__, columns[0]), np.int64, len(columns[0]))
        except KeyError:
            # Some games are already over: leave out their questions.
            questions = [question for question in zip(*columns, strict=True) if question[0] in row_of]
            columns = [[question[index] for question in questions] for index in range(len(columns))]
            rows = np.array([row_of[handle] for handle in columns[0]], np.int64)
        handles, plies, cells, *clocks = columns
        if handles:
            self._update(rows, np.array(plies, np.int64), np.array(cells, np.int64))
        for field, column in zip((_OWN_CLOCK, _OPPONENT_CLOCK), clocks, strict=False):
            self._games[field][rows] = column
        return Questions(handles, plies, rows)

    def _update(self, rows: _Numbers, plies: _Numbers, cells: _Numbers) -> None:
        """Place the opponent's moves that the boards lack, and undo the bot's answers to repeated questions."""
        counts = self._games[_COUNT][rows]
        is_new = counts + 1 == plies
        if not is_new.all():
            is_repeated = ~is_new & (counts != plies)
            if is_repeated.any():
                self._take_back(rows[is_repeated], plies[is_repeated])
            rows, plies, cells = rows[is_new], plies[is_new], cells[is_new]
        self._boards[rows, cells] = 2
        self._moves[rows, plies - 1] = cells
        self._games[_COUNT][rows] = plies

    def _take_back(self, rows: _Numbers, plies: _Numbers) -> None:
        """Undo the moves from these plies on."""
        self._games[_COUNT][rows] = plies
        self._boards[rows] = 0
        pairs = zip(rows.tolist(), plies.tolist(), strict=True)
        self._replay(rows, np.concatenate([self._moves[row, :ply] for row, ply in pairs]))

    def by_variant(self, questions: Questions) -> list[Questions]:
        if len(self._variants) < 2:
            return [questions]
        variants: _Numbers = self._games[_VARIANT][questions.positions]
        parts = []
        for variant in dict.fromkeys(variants.tolist()):
            indexes = np.flatnonzero(variants == variant)
            games = [questions.games[index] for index in indexes.tolist()]
            plies = [questions.plies[index] for index in indexes.tolist()]
            parts.append(Questions(games, plies, questions.positions[indexes]))
        return parts

    def answers(self, questions: Questions, report_resignation: ReportResignation) -> Answers:
        rows: _Numbers = questions.positions
        batch = self._batch(rows)
        variant = batch.variant
        plies = batch.ply.copy()
        cells, scores = read_cells(self._bot.choose_arrays(batch), len(rows))
        valid = (cells >= 0) & (cells < variant.cells)
        choices: list[Choice] = cells.tolist()
        if not valid.all():
            for index in np.flatnonzero(~valid).tolist():
                choices[index] = report_resignation(index, Resign()) if cells[index] == RESIGN else OFF_BOARD
                scores.pop(index, None)
            rows, plies, cells = rows[valid], plies[valid], cells[valid]
        self._boards[rows, cells] = 1
        self._moves[rows, plies] = cells
        self._games[_COUNT][rows] = plies + 1
        return Answers(questions.games, questions.plies, choices, scores)

    def _batch(self, rows: _Numbers) -> Batch:
        games = self._games.take(rows, axis=1)
        self._games[_NEW][rows] = False
        variant = self._variants[games[_VARIANT, 0]]
        plies, own = games[_COUNT], games[_OWN_CLOCK]
        boards = self._boards.take(rows, axis=0)
        return Batch(
            variant=variant,
            games=rows.copy(),
            new=games[_NEW] != 0,
            boards=boards if boards.shape[1] == variant.cells else boards[:, : variant.cells].copy(),
            last=np.where(plies > 0, self._moves[rows, plies - 1], -1),
            ply=plies,
            side=games[_SIDE],
            seed=games[_SEED].view(np.uint64),
            own_clock_us=own,
            opponent_clock_us=games[_OPPONENT_CLOCK],
            limit_us=np.minimum(own, games[_MOVE_LIMIT]),
        )

    def variant(self, game: int) -> Variant | None:
        row = self._rows.get(game)
        return None if row is None else self._variants[self._games[_VARIANT, row]]

    def moves(self, game: int) -> list[int]:
        row = self._rows[game]
        moves: list[int] = self._moves[row, : self._games[_COUNT, row]].tolist()
        return moves

    def forget(self, games: Sequence[int]) -> None:
        row_of = self._rows
        self._free_rows += [row_of.pop(handle) for handle in games if handle in row_of]
