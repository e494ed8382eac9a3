"""Each fault of each kind of bot in real games: the loser, the reason, unchanged games of others, no processes left."""

import asyncio
import shlex
import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_referee.rules import Position, parse_variant, side_seed
from noughts_server.launching.launcher import SandboxMode
from noughts_server.store.games.exports import ExportedGame
from tests.support.children.field import PLAYER, PROGRAMS, Field
from tests.support.hosting import compile_library, compile_wasm
from tests.support.loopback import wait_until
from tests.support.root import ROOT

from .matrix import CHILDREN, FAULTS, KINDS, Fault, NotApplicable, Verdict, table
from .remote import LABEL, RECONNECT_TIMEOUT, remote_field

HONEST = ("first-free", "random")
GAMES, GAMES_WITH_CLOCKS = 2, 4
"""Games of each misbehaving bot against the first honest one. One that hangs loses some on time before the referee
finds it slow: it then has about one game at a time."""
PAGE = ROOT / "docs" / "reference" / "faults.md"
MARK = "<!-- the table: tests/referee/children/matrix.py -->"


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[str]:
    """FOLDER:PORT of a folder and a listening port that no bot may reach."""
    folder = tmp_path / "outside"
    folder.mkdir()
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield f"{folder}:{server.getsockname()[1]}"


def spec_of_bad_bot(kind: str, habit: str, field: Field, ground: str) -> str:
    """Return the spec of a bot with this habit, whose label is its kind."""
    python = sys.executable
    match kind:
        case "exec":
            return f"exec=exec:{shlex.join([python, str(PLAYER), str(field.notes), habit, ground])}"
        case "json":
            words = [python, str(PLAYER), str(field.notes), habit, ground, "json"]
            return f"json=exec{{frames=json}}:{shlex.join(words)}"
        case "lines":
            return f"lines=lines:{shlex.join([python, str(PROGRAMS / 'liner.py'), habit, ground])}"
        case "py":
            return f"py=py{{habit={habit},ground={ground}}}:{PROGRAMS / 'plugin.py'}:Misbehaving"
        case "dll":
            source = f'#define HABIT "{habit}"\n#define GROUND "{ground}"\n#include "{PROGRAMS / "library.c"}"\n'
            return f"dll=dll:{compile_library(source, field.folder, name='library')}"
        case "wasm":
            source = f'#define HABIT "{habit}"\n#include "{PROGRAMS / "module.c"}"\n'
            return f"wasm=wasm:{compile_wasm(source, field.folder, name='module')}"
        case _:
            # Nothing else in its command tells its processes from those of other tests.
            return f"gomocup=gomocup:{shlex.join([python, str(PROGRAMS / 'engine.py'), habit, ground])}"


FAULTS_WITHOUT_AN_END = ("made an illegal move", "was too slow", "resigned", "thought for")
"""Beginnings of reasons for faults that end a game but not the process."""


def fault_rows() -> Iterator[object]:
    for fault in FAULTS:
        for sandbox_mode in (SandboxMode.REQUIRED, SandboxMode.OFF)[: 1 + fault.in_both_modes]:
            # Without the sandbox each bot also runs as two processes: both misbehave, with the same verdicts.
            processes = 0 if sandbox_mode is SandboxMode.REQUIRED else 2
            if any(isinstance(fault.cell(kind), Verdict) for kind in CHILDREN):
                yield pytest.param(fault, sandbox_mode, processes, id=f"{fault.what}-{sandbox_mode}")


def test_the_table_has_a_cell_for_every_fault_and_kind() -> None:
    assert len({fault.what for fault in FAULTS}) == len(FAULTS)
    for fault in FAULTS:
        for kind in KINDS:
            cell = fault.cell(kind)
            assert cell.why if isinstance(cell, NotApplicable) else cell.termination
        assert any(isinstance(cell, Verdict) for cell in fault.cells)


def test_the_page_of_faults_has_this_table() -> None:
    assert PAGE.read_text().partition(MARK)[2].strip() == table().strip()


@pytest.mark.at_length
@pytest.mark.parametrize("fault, sandbox_mode, processes", list(fault_rows()))
async def test_bad_bots_lose_for_a_reason_and_other_games_are_unchanged(
    tmp_path: Path, fault: Fault, sandbox_mode: SandboxMode, processes: int, ground: str
) -> None:
    field = Field(tmp_path, sandbox_mode)
    verdicts = {kind: cell for kind in CHILDREN if isinstance(cell := fault.cell(kind), Verdict)}
    specs = [spec_of_bad_bot(kind, fault.habit, field, ground) for kind in verdicts]
    count, at_once = (GAMES, 20) if fault.time == "none" else (GAMES_WITH_CLOCKS, len(CHILDREN))
    outcome = await field.play(
        *HONEST, *specs, games=count, concurrency=at_once, variant="mnk:5,5,5", time=fault.time, children=fault.times,
        processes=processes, gauntlet=True,
    )  # fmt: skip
    assert outcome.games == outcome.games_total
    assert field.survivors() == []
    notes = await field.notes_of_games()
    for kind, verdict in verdicts.items():
        games = [game for game in field.games if is_between(game, (kind,), HONEST)]
        assert len(games) == count
        check_games(games, kind, verdict)
        all_reasons = [bot_fault.reason for bot_fault in outcome.faults if bot_fault.bot == kind]
        assert bool(all_reasons) == (verdict.termination != "plays on"), (kind, all_reasons)
        assert all(game.fault for game in games if game.termination not in ("line", "board_full")), (kind, games)
        ignored = tuple(way for way in FAULTS_WITHOUT_AN_END if not verdict.reason.startswith(way))
        reasons = [reason for reason in all_reasons if not reason.startswith(ignored)]
        assert bool(reasons) == bool(verdict.reason), (kind, reasons)
        assert all(verdict.reason in reason for reason in reasons), (kind, outcome.faults)
        texts = [note[kind] for note in notes if kind in note] + [game.fault for game in games]
        assert not verdict.note or any(verdict.note in note for note in texts), (kind, texts)
    check_games_of_honest_bots(field.games)


@pytest.mark.parametrize(
    "fault", [pytest.param(row, id=row.what) for row in FAULTS if isinstance(row.cell(LABEL), Verdict)]
)
async def test_a_bad_remote_bot_loses_and_other_games_are_unchanged(tmp_path: Path, fault: Fault) -> None:
    verdict = fault.cell(LABEL)
    assert isinstance(verdict, Verdict)
    all_games = len(HONEST) + 1
    waits = verdict.termination == "waits"
    must_misbehave_first = bool(waits or verdict.reason)
    async with remote_field(f"sqlite:///{tmp_path / 'games.db'}", HONEST, fault.habit, fault.time) as field:
        await wait_until(
            lambda: (
                field.done == (1 if waits else all_games)
                and (field.has_misbehaved.is_set() or not must_misbehave_first)
            )
        )
        if waits:
            await asyncio.sleep(4 * RECONNECT_TIMEOUT)  # its games still wait after the reconnect timeout
        games = await field.games()
    if waits:
        assert len(games) == 1
    else:
        bad_games = [game for game in games if is_between(game, (LABEL,), HONEST)]
        assert len(bad_games) == len(HONEST)
        check_games(bad_games, LABEL, verdict)
    assert all(verdict.reason in status for status in field.statuses if verdict.reason), field.statuses
    assert field.statuses or not verdict.reason
    check_games_of_honest_bots(games)


def check_games_of_honest_bots(games: list[ExportedGame]) -> None:
    between_them = [game for game in games if is_between(game, HONEST, HONEST)]
    assert between_them
    assert all(game.moves == expected_moves(game) for game in between_them)


def check_games(games: list[ExportedGame], label: str, verdict: Verdict) -> None:
    """Check that the bad bot `label` has this verdict in all these games."""
    ends = {game.termination for game in games}
    if verdict.termination == "plays on":
        assert ends <= {"line", "board_full"}, label
    else:
        assert ends == {verdict.termination}, label
        assert [loser(game) for game in games] == [label] * len(games)


def is_between(game: ExportedGame, some: tuple[str, ...], others: tuple[str, ...]) -> bool:
    one, other = game.first, game.second
    return (one in some and other in others) or (one in others and other in some)


def loser(game: ExportedGame) -> str:
    return {"1-0": game.second, "0-1": game.first}[game.result]


def expected_moves(game: ExportedGame) -> list[int]:
    """Return the moves of a game between honest bots, computed from its seed."""
    position = Position(parse_variant(game.variant))
    bots = [make_bot(parse_spec(label)) for label in (game.first, game.second)]
    while position.free and not (position.moves and position.variant.completes(position.opponent, position.moves[-1])):
        side = position.side
        position.seed = side_seed(game.seed, side)
        position.play(bots[side].choose(position))  # type: ignore[arg-type]
    return list(position.moves)
