"""The commands of the tutorials run as written and print the output of the pages."""

import asyncio
import os
import re
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from noughts_server.core.version import software_version
from tests.support.root import ROOT

from .shells import STEP_SECONDS, Shell, blocks, newcomers_environment, run_shell

TUTORIALS = ROOT / "docs" / "tutorials"
_STEP = re.compile(r"^```bash\n(?P<commands>.*?)^```\n(?:\n```text\n(?P<printed>.*?)^```$)?", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.timeout(3 * STEP_SECONDS)


class Step(NamedTuple):
    """Commands of a page, and the lines that they print."""

    commands: str
    printed: list[str]


def steps(page: str) -> list[Step]:
    """Return the steps of a tutorial."""
    text = (TUTORIALS / page).read_text(encoding="utf-8")
    page_steps = [Step(step["commands"], lines(step["printed"] or "")) for step in _STEP.finditer(text)]
    assert len(page_steps) == text.count("```bash")
    return page_steps


def lines(text: str) -> list[str]:
    """Return the lines without values that differ between runs: widths, ports, versions. `...` means any lines."""
    plain = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)
    plain = re.sub(r"Noughts (\d\S+|\.\.\.)", f"Noughts {software_version()}", plain)
    return [" ".join(line.split()) for line in plain.splitlines() if line.strip() not in ("", "...")]


def assert_printed(expected: list[str], output: str) -> None:
    """Check that each expected line is the beginning of a line of the output."""
    printed = lines(output)
    missing = [line for line in expected if not any(printed_line.startswith(line) for printed_line in printed)]
    assert missing == [], f"the output was:\n{output}"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment variables of a newcomer who has installed Noughts."""
    variables = newcomers_environment(tmp_path)
    return {**variables, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{variables['PATH']}"}


async def play(played_steps: list[Step], folder: Path, environment: dict[str, str]) -> None:
    """Run steps in one terminal, and compare the output of each."""
    end_of_step = "-- end of a step --"
    script = "".join(f"{step.commands}echo '{end_of_step}'\n" for step in played_steps)
    async with run_shell(script, folder, environment) as shell, asyncio.timeout(STEP_SECONDS):
        code = await shell.process.wait()
    assert code == 0, shell.output
    for step, output in zip(played_steps, shell.output.split(end_of_step), strict=False):
        assert_printed(step.printed, output)


async def wait_for_output(expected: list[str], shell: Shell) -> None:
    """Wait until a terminal shows these lines."""
    await shell.wait_for(*(line.partition("127.0.0.1")[0] for line in expected), within=STEP_SECONDS)
    assert_printed(expected, shell.output)


def address_after(word: str, shell: Shell) -> str:
    """Return the address that a terminal shows after a word."""
    [address] = set(re.findall(rf"{word} (127\.0\.0\.1:\d+)", shell.output))
    return str(address)


@pytest.mark.at_length
async def test_first_match_works_as_written(tmp_path: Path, environment: dict[str, str]) -> None:
    installing, *playing = steps("first-match.md")
    # The test of the league tutorial runs the same installation commands.
    assert blocks("docs/tutorials/first-league.md")[0].startswith(installing.commands)
    await play(playing, tmp_path, environment)


@pytest.mark.at_length
async def test_first_bot_works_as_written(tmp_path: Path, environment: dict[str, str]) -> None:
    await play(steps("your-first-bot.md"), tmp_path, environment)


@pytest.mark.at_length
async def test_club_cup_works_as_written(tmp_path: Path, environment: dict[str, str]) -> None:
    serving, playing, *organising = steps("club-cup.md")
    commands = serving.commands.replace("noughts serve\n", "noughts serve --no-web --listen 127.0.0.1:0\n")
    assert commands != serving.commands
    async with run_shell(commands, tmp_path, environment) as first:
        await wait_for_output(serving.printed, first)
        environment["NOUGHTS_SERVER"] = address_after("serves at", first)
        async with run_shell(playing.commands, tmp_path, environment) as second:
            await wait_for_output(playing.printed, second)
            await play(organising, tmp_path, environment)
    assert (tmp_path / "report.html").is_file()


@pytest.mark.at_length
async def test_training_an_agent_works_as_written(tmp_path: Path, environment: dict[str, str]) -> None:
    folder = tmp_path / "trained-agent"
    shutil.copytree(ROOT / "examples" / "trained-agent", folder)
    *training, serving, playing, organising = steps("train-an-agent.md")
    for step in training:
        await play([step], folder, environment)
    commands = serving.commands.replace("noughts serve\n", "noughts serve --no-web --listen 127.0.0.1:0\n")
    async with run_shell(commands, folder, environment) as second:
        await wait_for_output(serving.printed, second)
        environment["NOUGHTS_SERVER"] = address_after("serves at", second)
        async with run_shell(playing.commands, folder, environment) as third:
            await wait_for_output(playing.printed, third)
            await play([organising], folder, environment)
    assert (folder / "samples.npz").stat().st_size > 1000


@pytest.mark.at_length
async def test_watching_and_analysing_works_as_written(tmp_path: Path, environment: dict[str, str]) -> None:
    living, watching, *analysing = steps("watch-and-analyse.md")
    assert living.commands == "noughts live\n"
    command = "noughts live --listen 127.0.0.1:0 --web 127.0.0.1:0"
    async with run_shell(command, tmp_path, environment) as first:
        await wait_for_output(living.printed, first)
        await first.wait_for("Stop:", within=STEP_SECONDS)
        environment["NOUGHTS_SERVER"] = address_after("--server", first)
        await play([watching], tmp_path, environment)
    await play(analysing, tmp_path, environment)
    for name in ("games.sgf", "positions.csv", "report.html"):
        assert (tmp_path / name).stat().st_size > 1000
