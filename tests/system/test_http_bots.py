"""Bots of at most 30 lines play Connect Four over HTTP for rating points, in each language that this machine has."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from noughts_bots.reference.random_ import Random
from noughts_proto.v1 import types_pb2
from noughts_server.testing import ServerUnderTest, serving
from tests.support.http_bots import organiser_at, playing
from tests.support.node import NODE
from tests.support.processes import environment, eventually, started
from tests.support.root import ROOT
from tests.support.site import Site, site_of
from tests.support.tools import build_go, program_of, run

BOTS = ROOT / "bots" / "examples" / "http"
_GAMES = 4


@pytest.fixture(scope="module")
def server() -> Iterator[ServerUnderTest]:
    with serving(reconnect_timeout=60.0) as running:
        yield running


@pytest.fixture(scope="module")
def site(server: ServerUnderTest) -> Iterator[Site]:
    with site_of(server.address) as running:
        yield running


def python(folder: Path) -> list[str]:
    return [program_of("python", "python"), str(BOTS / "bot.py")]


def node(folder: Path) -> list[str]:
    return [str(NODE), str(BOTS / "bot.js")]


def bash(folder: Path) -> list[str]:
    program_of("bash", "curl")
    return [program_of("bash", "bash"), str(BOTS / "bot.sh")]


def rust(folder: Path) -> list[str]:
    compiled = folder / "bot"
    run(program_of("rust", "rustc"), "-o", compiled, BOTS / "bot.rs")
    return [str(compiled)]


def go(folder: Path) -> list[str]:
    compiled = folder / "bot"
    build_go(BOTS / "bot.go", compiled)
    return [str(compiled)]


def java(folder: Path) -> list[str]:
    run(program_of("java", "javac"), "-d", folder, BOTS / "Bot.java")
    return [program_of("java", "java"), "-cp", str(folder), "Bot"]


def ruby(folder: Path) -> list[str]:
    return [program_of("ruby", "ruby"), str(BOTS / "bot.rb")]


def csharp(folder: Path) -> list[str]:
    dotnet = program_of("csharp", "dotnet")
    run(dotnet, "new", "console", "--output", folder / "bot")
    shutil.copy(BOTS / "Bot.cs", folder / "bot" / "Program.cs")
    run(dotnet, "build", "--output", folder / "built", folder / "bot")
    return [dotnet, str(folder / "built" / "bot.dll")]


LANGUAGES = (python, node, bash, rust, go, java, ruby, csharp)


def test_each_bot_has_at_most_30_lines() -> None:
    lines = {path.name: len(path.read_text().splitlines()) for path in BOTS.iterdir() if path.suffix != ".md"}
    assert len(lines) == len(LANGUAGES)
    assert max(lines.values()) <= 30


@pytest.mark.parametrize(
    "language",
    [python, node, bash, *(pytest.param(each, marks=pytest.mark.at_length) for each in LANGUAGES[3:])],
    ids=lambda language: language.__name__,
)
def test_a_bot_of_each_language_plays_legally_and_rated(
    server: ServerUnderTest, site: Site, tmp_path: Path, language: Callable[[Path], list[str]]
) -> None:
    command = language(tmp_path)
    name = language.__name__
    token, other = server.token(f"author-{name}"), server.token("rival")
    env = environment(NOUGHTS_WEB=site.address, NOUGHTS_TOKEN=token)
    with (
        organiser_at(server) as organiser,
        playing(server, Random(), other, f"rival-{name}"),
        started([name], env, command) as process,
    ):
        eventually(lambda: process.poll() is not None or site.get(f"/api/v1/bots/{name}").status == 200)
        cup = organiser.start(
            name, (f"bots/{name}", token), (f"bots/rival-{name}", other), variant="connect4", games_per_pair=_GAMES
        )
        games = organiser.games(cup)
        assert process.poll() is None
    assert len(games) == _GAMES
    assert {game.termination for game in games} <= {types_pb2.TERMINATION_LINE, types_pb2.TERMINATION_BOARD_FULL}
    (rating,) = site.get(f"/api/v1/bots/{name}/ratings").document["ratings"]
    assert rating["row"]["games"] == _GAMES
