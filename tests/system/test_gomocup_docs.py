"""The dialogue of Gomocup engines in docs/how-to/writing-a-bot.md is the real one."""

import re
import subprocess
import sys
from dataclasses import replace

import pytest

from noughts_bots import Position, parse_variant
from noughts_bots.reference.specs import parse_spec
from noughts_referee.children.running_child import ChildSettings
from noughts_server.bot_check.child_session import child_session
from noughts_server.core.version import software_version
from noughts_server.launching.launcher import SandboxMode, launching
from tests.support.root import ROOT

GUIDE = (ROOT / "docs" / "how-to" / "writing-a-bot.md").read_text()
NOUGHTS = (sys.executable, "-m", "noughts_server.cli")
# Commands that replace those of the reader's own engine, which does not exist here.
STAND_INS = {
    "./pbrain-mine": "noughts bot gomocup first-free",
    "wine ./pbrain-mine.exe": "noughts bot gomocup first-free",
}


def block(language: str) -> list[str]:
    """The lines of the guide's only block of this kind."""
    (text,) = re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    return str(text).splitlines()


@pytest.mark.parametrize("text", block("gomocup"))
async def test_an_engine_of_the_guide_plays(text: str) -> None:
    spec = parse_spec(text)
    command = STAND_INS.get(spec.target, spec.target).replace("noughts", " ".join(NOUGHTS), 1)
    async with (
        launching(SandboxMode.OFF, lambda note: None) as launcher,
        child_session(replace(spec, target=command), launcher, ChildSettings(start=30.0), move_seconds=30.0) as bot,
    ):
        await bot.greet()
        assert (await bot.answer(Position(parse_variant("gomoku")))).cell == 0


def test_the_session_of_the_guide_shows_the_engines_real_answers() -> None:
    command, *lines = block("gomocup-session")
    typed = [line.removeprefix("> ") for line in lines if line.startswith("> ")]
    answers = [line for line in lines if not line.startswith("> ")]
    process = subprocess.run(
        [*NOUGHTS, *command.removeprefix("$ noughts ").split()],
        input="\n".join(typed),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert process.stdout.replace(f'version="{software_version()}"', 'version="..."').splitlines() == answers
