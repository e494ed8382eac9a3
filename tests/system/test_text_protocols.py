"""The examples that read lines or JSON, in every language: each plays the games of `first-free`."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from noughts_server.launching.launcher import SandboxMode
from noughts_server.store.games.exports import ExportedGame
from tests.support.children.field import Field
from tests.support.node import NODE
from tests.support.root import ROOT
from tests.support.shared import make_once
from tests.support.tools import NOT_TRIED, cargo, compiler, run

EXAMPLES = ROOT / "bots" / "examples"
GUIDE = (ROOT / "docs" / "how-to" / "writing-a-bot.md").read_text()


def in_c(folder: Path) -> list[str | Path]:
    run(*compiler("cc"), "-O2", "-Wall", "-Wextra", "-Werror", "-o", folder / "in_c", EXAMPLES / "lines" / "lowest.c")
    return [folder / "in_c"]


def in_rust(folder: Path) -> list[str | Path]:
    rustc = Path(cargo()).with_name("rustc")
    run(rustc, "-O", "-o", folder / "in_rust", EXAMPLES / "lines" / "lowest.rs")
    return [folder / "in_rust"]


def in_perl(folder: Path) -> list[str | Path]:
    perl = shutil.which("perl")
    if perl is None:
        pytest.skip(f"{NOT_TRIED}the example in Perl; no perl here")
    return [perl, EXAMPLES / "lines" / "lowest.pl"]


COMMANDS: dict[str, Callable[[Path], list[str | Path]]] = {
    "lines/lowest.py": lambda _: [sys.executable, EXAMPLES / "lines" / "lowest.py"],
    "lines/lowest.js": lambda _: [NODE, EXAMPLES / "lines" / "lowest.js"],
    "lines/lowest.sh": lambda _: ["sh", EXAMPLES / "lines" / "lowest.sh"],
    "lines/lowest.c": in_c,
    "lines/lowest.rs": in_rust,
    "lines/lowest.pl": in_perl,
    "json/lowest.py": lambda _: [sys.executable, EXAMPLES / "json" / "lowest.py"],
    "json/lowest.js": lambda _: [NODE, EXAMPLES / "json" / "lowest.js"],
}
VARIANTS = ("tictactoe", "gomoku", "mnk:7,6,4")


def test_every_example_is_tested() -> None:
    files = {str(path.relative_to(EXAMPLES)) for kind in ("lines", "json") for path in (EXAMPLES / kind).glob("*.*")}
    assert files == {*COMMANDS, "lines/README.md", "json/README.md"}


async def games_of(spec: str, field: Field) -> list[ExportedGame]:
    """Play a bot against `random` on each of `VARIANTS`, and return the games."""
    games = []
    for variant in VARIANTS:
        (field.folder / "games.db").unlink(missing_ok=True)
        outcome = await field.play(f"mine={spec}", "random", games=6, concurrency=4, variant=variant)
        assert outcome.faults == ()
        games += field.games
    return games


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The games of `first-free`, as text; every example must play the same."""

    def play(folder: Path) -> None:
        (folder / "games").write_text(repr(asyncio.run(games_of("first-free", Field(folder)))))

    return (make_once(tmp_path_factory, "lowest", play) / "games").read_text()


@pytest.mark.at_length
@pytest.mark.parametrize("example", COMMANDS)
async def test_an_example_in_any_language_plays_like_first_free(tmp_path: Path, example: str, expected: str) -> None:
    command = shlex.join(map(str, COMMANDS[example](tmp_path)))
    kind = "exec{frames=json}" if example.startswith("json") else "lines"
    # Node reserves more addresses than a sandboxed child can.
    field = Field(tmp_path, SandboxMode.OFF if example.endswith(".js") else SandboxMode.REQUIRED)
    assert repr(await games_of(f"{kind}:{command}", field)) == expected
    assert field.survivors() == []


@pytest.mark.parametrize("kind", ["lines", "json"])
def test_the_guide_shows_the_example_in_python(kind: str) -> None:
    (example,) = re.findall(rf"^```python lowest_{kind}.py\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    assert example == (EXAMPLES / kind / "lowest.py").read_text()
    assert len(example.splitlines()) < 30


def test_the_conversation_of_the_guide_follows_the_protocol(tmp_path: Path) -> None:
    from noughts_bots.hosts.lines import question, read_answer
    from noughts_bots.sdk.bot import Resign
    from noughts_referee.rules import Position, parse_variant

    (conversation,) = re.findall(r"^```lines-session\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    for line in conversation.splitlines():
        printed_question, answer = re.split(r" {3,}", line)
        variant, _, *moves = printed_question.split()
        position = Position.after(parse_variant(variant), map(int, moves))
        assert question(position) == printed_question
        if answer.startswith("resign"):
            with pytest.raises(Resign, match="I do not know this board"):
                read_answer(answer)
        else:
            assert read_answer(answer).cell in position.free
    assert os.linesep == "\n"
