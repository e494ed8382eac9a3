"""Samples for training from games: positions with the side to move, its move, and the result for this side.

An npz file has the arrays `positions` (bytes of shape (samples, cells): 0 empty, 1 X, 2 O), `sides` (0 for X, 1 for O),
`moves` (the chosen cells), `results` (1, 0 or -1 for the side to move) and `games` (the number of each sample's game,
from 0), and the `variant`. Games without a result and moves of openings, also by swap and swap2, give no samples.
"""

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from noughts_server.records.recorded_game import RecordError, variant_of
from noughts_server.tables.recorded_game import RecordedGame

if TYPE_CHECKING:
    from collections.abc import Callable

MARKS = bytes.maketrans(bytes(range(3)), b".XO")
"""A table for `bytes.translate` that turns the bytes of a board into its text."""
_CSV_COLUMNS = ("variant", "game", "position", "side", "move", "result")


class Sample(NamedTuple):
    """A position of a game, with the move and the result."""

    board: bytes
    """A byte for each cell: 0 empty, 1 X, 2 O."""
    side: int
    """The side to move: 0 for X, 1 for O."""
    move: int
    result: int
    """1 if this side won, -1 if it lost, 0 for a draw."""


def samples(record: RecordedGame) -> Iterator[Sample]:
    """Yield the samples of a game. Raises RecordError."""
    if record.score is None:
        return
    score = round(2 * record.score) - 1
    board = bytearray(variant_of(record.variant).cells)
    for ply, cell in enumerate(record.moves):
        side = ply & 1
        if not 0 <= cell < len(board):
            raise RecordError(f"the move {cell}", f"cells from 0 to {len(board) - 1}")
        if ply >= record.first_chosen:
            yield Sample(bytes(board), side, cell, -score if side else score)
        board[cell] = side + 1


def write_csv(records: Iterable[RecordedGame], out: IO[str]) -> int:
    """Write lines with variant, game, position (`X...O....`), side, move and result. Return the number of samples."""
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(_CSV_COLUMNS)
    count = 0
    for number, record in enumerate(records):
        for board, side, move, result in samples(record):
            rows.writerow((record.variant, number, board.translate(MARKS).decode(), "XO"[side], move, result))
            count += 1
    return count


def write_npz(read: "Callable[[], Iterable[RecordedGame]]", target: Path) -> int:
    """Write the arrays, which need no memory because they grow in files, and return the number of samples.

    `read` is called twice. Raises RecordError unless all games have the same variant, and if there are no samples.
    """
    import numpy as np

    count = 0
    variants = dict[str, None]()
    for record in read():
        variants[record.variant] = None
        if record.score is not None:
            count += max(0, len(record.moves) - record.first_chosen)
        if len(variants) > 1:
            raise RecordError(f"games of {' and '.join(variants)}", "games of a single variant: all on the same board")
    if not count:
        raise RecordError("no game with moves and a result", "at least one to take samples from")
    (variant,) = variants
    cells = variant_of(variant).cells
    kinds = {
        "positions": (np.uint8, (count, cells)),
        "sides": (np.uint8, (count,)),
        "moves": (np.uint16, (count,)),
        "results": (np.int8, (count,)),
        "games": (np.uint32, (count,)),
    }
    with TemporaryDirectory(prefix="noughts-", dir=target.parent) as folder:
        arrays: dict[str, Any] = {
            name: np.lib.format.open_memmap(Path(folder, f"{name}.npy"), "w+", dtype=kind, shape=shape)
            for name, (kind, shape) in kinds.items()
        }
        at = 0
        for number, record in enumerate(read()):
            for board, side, move, result in samples(record):
                arrays["positions"][at] = np.frombuffer(board, np.uint8)
                arrays["sides"][at] = side
                arrays["moves"][at] = move
                arrays["results"][at] = result
                arrays["games"][at] = number
                at += 1
        temporary = Path(folder, "samples.npz")
        np.savez_compressed(temporary, variant=np.array(variant), **arrays)
        temporary.replace(target)
    return count
