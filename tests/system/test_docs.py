"""Programs and output in README.md and two how-to pages about bots: the programs run, the output is the real one."""

import asyncio
import contextlib
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc.aio
import pytest
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from noughts_bots.reference.specs import parse_spec
from noughts_bots.sdk.bot import Move
from noughts_proto.transport import CLIENT_OPTIONS, TOKEN_KEY
from noughts_proto.v1 import play_pb2 as pb
from noughts_proto.v1 import play_pb2_grpc
from noughts_referee.clock import parse_time_control
from noughts_referee.rules import Position, parse_variant
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.core.version import software_version
from noughts_server.local.plan import LocalPlan, LocalStop
from noughts_server.local.run import play_locally
from tests.support.league_server import LeagueServer
from tests.support.patience import PATIENCE
from tests.support.root import ROOT

if TYPE_CHECKING:
    from noughts_proto.v1.play_pb2_grpc import PlayServiceAsyncStub

GUIDE = (ROOT / "docs" / "how-to" / "writing-a-bot.md").read_text()
ARRAYS = (ROOT / "docs" / "how-to" / "bots-of-arrays.md").read_text()
PAGES = ((ROOT / "README.md").read_text(), GUIDE, ARRAYS)
DEFAULT_ADDRESS = "127.0.0.1:7450"


def blocks(text: str, language: str) -> list[str]:
    """Return the fenced blocks of this language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


PROGRAMS = {block.partition("\n")[0].removeprefix("# "): block for page in PAGES for block in blocks(page, "python")}
"""The Python programs of the pages by the file names that their first lines state."""


@asynccontextmanager
async def run_program(
    folder: Path, name: str, league_server: LeagueServer
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a program of the pages as a process, in a folder with all of them."""
    for each, source in PROGRAMS.items():
        (folder / each).write_text(source.replace(DEFAULT_ADDRESS, league_server.address))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *(("-m", "pytest", "-q", "-p", "no:cacheprovider") if name.startswith("test_") else ()),
        name,
        cwd=folder,
        env={**os.environ, "NOUGHTS_SERVER": league_server.address, "NOUGHTS_TOKEN": league_server.token},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


def test_each_program_of_the_pages_names_its_file() -> None:
    assert set(PROGRAMS) == {
        "corner.py",
        "try_corner.py",
        "counting.py",
        "counting_all.py",
        "line_counter.py",
        "test_corner.py",
        "lowest.py",
        "chooser.py",
    }


@pytest.mark.parametrize("name", [name for name, source in PROGRAMS.items() if "run(" in source])
async def test_bot_of_the_pages_plays_a_tournament(tmp_path: Path, league_server: LeagueServer, name: str) -> None:
    async with run_program(tmp_path, name, league_server), league_server.opponent("random"):
        bot = name.removesuffix(".py")
        await league_server.until_online(bot)
        await league_server.start("cup", bot, "random", games_per_pair=20, seed=5)
        games = await league_server.games("cup")
    assert len(games) == 20
    assert {len(game.moves) >= 5 for game in games} == {True}


@pytest.mark.parametrize("name", [name for name, source in PROGRAMS.items() if not re.search(r"run\(|stdin", source)])
async def test_programs_of_the_pages_print_the_values_in_their_comments(
    tmp_path: Path, league_server: LeagueServer, name: str
) -> None:
    async with run_program(tmp_path, name, league_server) as process, asyncio.timeout(PATIENCE):
        output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    if name.startswith("test_"):
        assert "1 passed" in output.decode()
        return
    documented = re.findall(r"^print\(.*\)  # (.+)$", PROGRAMS[name], re.MULTILINE)
    assert documented
    assert output.decode().splitlines() == documented


@pytest.mark.parametrize("name, bot", [("counting_all.py", "CountingAll"), ("line_counter.py", "LineCounter")])
def test_batch_bots_of_the_pages_choose_the_same_cells(name: str, bot: str) -> None:
    pages: dict[str, dict[str, Any]] = {"counting.py": {}, name: {}}
    for each, page in pages.items():
        exec(PROGRAMS[each], page)
    one, many = pages["counting.py"]["Counting"](), pages[name][bot]()
    positions = [
        Position.after(parse_variant("tictactoe"), moves) for ply in range(4) for moves in permutations(range(9), ply)
    ]
    chosen = [answer.cell if isinstance(answer, Move) else answer for answer in many.choose_batch(positions)]
    assert chosen == [one.choose(position).cell for position in positions]


async def test_a_program_of_the_guide_that_noughts_starts_plays(tmp_path: Path) -> None:
    (tmp_path / "lowest.py").write_text(PROGRAMS["lowest.py"])
    plan = LocalPlan(
        specs=(parse_spec(f"Lowest=exec:{sys.executable} {tmp_path / 'lowest.py'}"), parse_spec("first-free")),
        settings=TournamentSettings(
            variant="mnk:5,5,4",
            time=parse_time_control("2/move"),
            games_per_pair=4,
            concurrency=4,
            seed=1,
        ),
    )
    outcome = await play_locally(plan, on_progress=lambda progress: None, stop=LocalStop())
    # Both take the lowest free cell.
    assert (outcome.games, outcome.terminations, outcome.faults) == (4, {"line": 4}, ())


async def session_of_a_game(league_server: LeagueServer) -> list[str]:
    """Return the messages to and from a bot that takes the lowest free cell in a game against `random`."""
    lines: list[str] = []

    def note(way: str, frame: Message) -> None:
        lines.append(f"{way:<4} {json.dumps(MessageToDict(frame, preserving_proto_field_name=True))}")

    async with (
        league_server.opponent("random"),
        grpc.aio.insecure_channel(league_server.address, options=CLIENT_OPTIONS) as channel,
        asyncio.timeout(PATIENCE),
    ):
        stub: PlayServiceAsyncStub = play_pb2_grpc.PlayServiceStub(channel)
        call = stub.Play(metadata=((TOKEN_KEY, f"Bearer {league_server.token}"),))

        async def up(frame: pb.PlayRequest) -> None:
            note("up", frame)
            await call.write(frame)

        async def down() -> pb.PlayResponse:
            frame: object = await call.read()
            assert isinstance(frame, pb.PlayResponse)
            note("down", frame)
            return frame

        await up(pb.PlayRequest(hello=pb.Hello(protocol=1, bot="ada", agent="my-bot/1.0")))
        await down()
        await up(pb.PlayRequest(heartbeat=(await down()).heartbeat))
        await league_server.start("spring-cup", "ada", "random", games_per_pair=1, seed=1)
        moves: list[int] = []
        while not (frame := await down()).ends.game:
            (handle,), (ply,), (cell,) = frame.turns.game, frame.turns.ply, frame.turns.cell
            if len(moves) < ply:
                moves.append(cell)
            moves.append(min(set(range(9)) - set(moves)))
            await up(
                pb.PlayRequest(done_through=frame.frame, moves=pb.Moves(game=[handle], ply=[ply], cell=moves[-1:]))
            )
        await up(pb.PlayRequest(done_through=frame.frame))
        await call.done_writing()
        assert await call.code() is grpc.StatusCode.OK
    return lines


async def test_the_session_of_the_guide_shows_the_real_messages(league_server: LeagueServer) -> None:
    documented = "".join(blocks(GUIDE, "text"))
    real = "".join(f"{line}\n" for line in await session_of_a_game(league_server))
    assert documented == real.replace(f'"server": "{software_version()}"', '"server": "..."')


def test_no_example_shows_a_version_of_noughts() -> None:
    stated = re.compile(r'Noughts \d+\.\d+\S* (?:at|serves)|"server": "\d|name="noughts-\w+", version="\d')
    commands = (ROOT / "server" / "noughts_server" / "cli").rglob("*.py")
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *commands]
    stale = [f"{page.relative_to(ROOT)}: {found}" for page in pages for found in stated.findall(page.read_text())]
    assert stale == []


def test_pictures_of_the_pages_fetch_nothing_from_elsewhere() -> None:
    pictures = list((ROOT / "docs" / "images").glob("*.svg"))
    assert len(pictures) >= 6
    for picture in pictures:
        assert set(re.findall(r"https?://[^\s\"')]+", picture.read_text())) <= {"http://www.w3.org/2000/svg"}, picture
