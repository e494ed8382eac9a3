"""Real processes that host plugins, frames that a test exchanges with them, and compilers of their libraries."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, cast

from noughts_bots.hosts.dll import HEADER
from noughts_bots.reference.random_ import Random
from noughts_proto.pipes import LARGEST_FROM_BOT, packed, read_message
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.rules import Position, game_seed, parse_variant, side_seed
from tests.support.root import ROOT
from tests.support.tools import cargo, compiler, run, zig

C_EXAMPLES = ROOT / "bots" / "examples" / "c"
RUST_EXAMPLE = ROOT / "bots" / "examples" / "rust"
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic")
C99, CXX11 = "c99", "c++11"
_PATIENCE = 60.0


class HostProcess:
    """The process `python -P -m noughts_bots.hosts` with these arguments; it is killed at the end of the block."""

    def __init__(self, *arguments: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  # closed by __exit__
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "noughts_bots.hosts", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env={**os.environ, **(env or {})},
            cwd=cwd,
        )
        self._frames = 0

    def __enter__(self) -> "HostProcess":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self.process:
            if self.process.poll() is None:
                self.process.kill()
        self._stderr.close()

    def receive(self) -> pb.PlayRequest | None:
        """Return the next frame, or None at the end of the pipe."""
        assert self.process.stdout is not None
        message = read_message(cast(BinaryIO, self.process.stdout), LARGEST_FROM_BOT)
        return None if message is None else pb.PlayRequest.FromString(message)

    def moves(self) -> pb.Moves:
        """Return the moves of the next frame that has some. After a slow answer follows a frame without moves."""
        while True:
            answer = self.receive()
            assert answer is not None, self.stderr_text()
            if answer.moves.game:
                return answer.moves

    def hello(self) -> pb.Hello:
        first = self.receive()
        assert first is not None, self.stderr_text()
        assert first.HasField("hello")
        return first.hello

    def send(self, frame: pb.PlayResponse) -> None:
        assert self.process.stdin is not None
        self._frames += 1
        frame.frame = self._frames
        self.process.stdin.write(packed(frame.SerializeToString()))
        self.process.stdin.flush()

    def ask(
        self, variant: str, games: Mapping[int, Sequence[int]], *, seeds: Mapping[int, int], side: int = 0
    ) -> dict[int, int | None]:
        """Start these games after these moves, and return the bot's cells; None for a resignation."""
        frame = pb.PlayResponse()
        starts = frame.starts.add(tournament="tournaments/t", variant=variant, opponents=["x"])
        for game, moves in games.items():
            starts.game.append(game)
            starts.number.append(game)
            starts.side.append(side + 1)  # type: ignore[arg-type]
            starts.seed.append(seeds[game])
            starts.opponent.append(0)
            starts.move_count.append(len(moves))
            starts.moves.extend(moves)
        return self.turn(games, frame)

    def turn(self, games: Mapping[int, Sequence[int]], frame: pb.PlayResponse | None = None) -> dict[int, int | None]:
        """Ask for the next move of each game in one frame, and return the bot's cells; None for a resignation."""
        frame = frame or pb.PlayResponse()
        for game, moves in games.items():
            frame.turns.game.append(game)
            frame.turns.ply.append(len(moves))
            frame.turns.cell.append(moves[-1] if moves else 0)
        self.send(frame)
        answers: dict[int, int | None] = {}
        while len(answers) < len(games):
            answer = self.moves()
            resigned = set(answer.resigned)
            for row, (game, cell) in enumerate(zip(answer.game, answer.cell, strict=True)):
                answers[game] = None if row in resigned else cell
        return answers

    def first_move(self, variant: str = "tictactoe") -> int | None:
        """Return its move on the empty board."""
        return self.ask(variant, {1: ()}, seeds={1: 5})[1]

    def close(self) -> int:
        """Close its input as a referee does at the end, and return the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.wait_for_exit()

    def wait_for_exit(self) -> int:
        """Wait until it ends by itself, and return the exit code, negative for a signal."""
        return self.process.wait(_PATIENCE)

    def stderr_text(self) -> str:
        """Return its stderr so far, which also has what bots print."""
        return os.pread(self._stderr.fileno(), 1 << 20, 0).decode()


def load_error(*arguments: str | Path, cwd: Path | None = None) -> str:
    """Start a child that cannot load its bot, and return the last line of its output; it must exit with 1."""
    with HostProcess(*arguments, cwd=cwd) as child:
        assert child.receive() is None
        assert child.wait_for_exit() == 1, child.stderr_text()
        return child.stderr_text().splitlines()[-1]


def compile_library(source: Path | str, folder: Path, standard: str = C99, name: str = "bot") -> Path:
    """Compile a file, or a text in C, and return the path of the library."""
    if isinstance(source, str):
        (folder / f"{name}.c").write_text(source)
        source = folder / f"{name}.c"
    language = ("c++", "-x", "c++") if standard == CXX11 else ("cc",)
    library = folder / f"{name}-{standard}.so"
    options = (*language[1:], f"-std={standard}", *WARNINGS, "-fPIC", "-shared", "-I", HEADER.parent)
    run(*compiler(language[0]), *options, "-o", library, source)
    return library


def build_with_cargo(folder: Path) -> Path:
    """Build a copy of the example in Rust without a network, as a debug build; return the path of its library."""
    builder = cargo()
    source = folder / "rust"
    shutil.copytree(RUST_EXAMPLE, source, ignore=shutil.ignore_patterns("target"))
    run(builder, "build", "--offline", "--locked", cwd=source)
    return source / "target" / "debug" / ("librandom.dylib" if sys.platform == "darwin" else "librandom.so")


def compile_wasm(source: str | Path, folder: Path, name: str = "bot", *options: str) -> Path:
    """Compile a file or text in C, without the C library, to a module of WebAssembly; return its path."""
    target = ("-target", "wasm32-freestanding", "-nostdlib", "-Wl,--no-entry", "-Wl,--export-table", "-s")
    path, module = folder / f"{name}.c", folder / f"{name}.wasm"
    if isinstance(source, Path):
        path = source
    else:
        path.write_text(source)
    run(
        *zig(),
        "cc",
        *target,
        "-std=c99",
        "-O1",
        *WARNINGS,
        *options,
        "-fno-builtin",
        "-I",
        HEADER.parent,
        "-o",
        module,
        path,
    )
    return module


def plays_like_random(kind: str, library: Path, variant_name: str, games: int = 100) -> None:
    """Check that a library chooses the moves of the reference bot `random` in `games` games, half on each side.

    All games of a side run at once, against random moves.
    """
    variant, reference = parse_variant(variant_name), Random()
    with HostProcess(kind, library) as child:
        child.hello()
        for side in (0, 1):
            offset = side * games  # all games of the process have different numbers
            running = {number: Position(variant) for number in range(games // 2)}
            seeds = {number: side_seed(game_seed(11 + side, number), side) for number in running}
            is_first_question = True
            while running:
                if side != next(iter(running.values())).side:
                    for number, position in running.items():
                        position.seed = seeds[number] ^ 1  # the opponent's random numbers
                        position.play(reference.choose(position))
                running = {number: position for number, position in running.items() if _is_unfinished(position)}
                if not running:
                    break
                histories = {number + offset: position.moves for number, position in running.items()}
                seeds_by_game = {number + offset: seed for number, seed in seeds.items()}
                answers = (
                    child.ask(variant_name, histories, seeds=seeds_by_game, side=side)
                    if is_first_question
                    else child.turn(histories)
                )
                is_first_question = False
                for number, position in running.items():
                    position.seed = seeds[number]
                    expected = reference.choose(position)
                    assert answers[number + offset] == expected, position
                    position.play(expected)
                running = {number: position for number, position in running.items() if _is_unfinished(position)}
        assert child.close() == 0


def _is_unfinished(position: Position) -> bool:
    won = bool(position.moves) and position.variant.completes(position.opponent, position.moves[-1])
    return bool(position.free) and not won
