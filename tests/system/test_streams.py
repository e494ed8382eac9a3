"""Commands whose standard streams are closed, full, narrow or a dumb terminal."""

import json
import os
import pty
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.support.background import server_in_thread
from tests.support.patience import PATIENCE
from tests.support.processes import (
    PROGRAM,
    environment,
    exit_code_and_errors,
    first_line,
    run_here,
    run_noughts,
    started,
)

LINES = (
    "--version",
    "--help",
    "bogus",
    "variants --format json",
    "match random random --games 2 --seed 1 -o -",
    "rules check -",
)
"""Commands that use the streams in different ways: version, help, an error, results, games on stdout, stdin."""


def outcome(line: str, folder: Path, redirections: str = "") -> tuple[int, str, str]:
    """Return exit code, stdout and stderr of a command; stdin is empty unless the redirections close it."""
    command = f'exec "$@" {redirections}'
    arguments = ["sh", "-c", command, "sh", *PROGRAM, *line.split()]
    env = environment(XDG_DATA_HOME=str(folder), COLUMNS="100")
    process = subprocess.run(
        arguments, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False
    )
    return process.returncode, process.stdout, process.stderr


def outcomes(folder: Path, lines: Sequence[str], redirections: Sequence[str]) -> list[list[tuple[int, str, str]]]:
    """Return the outcomes of each line with each of the redirections."""
    with ThreadPoolExecutor(4) as pool:
        wanted = [[pool.submit(outcome, line, folder, redirection) for redirection in redirections] for line in lines]
        return [[future.result() for future in row] for row in wanted]


@pytest.mark.at_length
def test_closed_stream_is_like_the_null_device(tmp_path: Path) -> None:
    rows = outcomes(tmp_path, LINES, ("", "<&-", ">&-", "2>&-"))
    for line, (usual, *closed) in zip(LINES, rows, strict=True):
        code, output, errors = usual
        expected = [usual, (code, "", errors), (code, output, "")]
        assert closed == expected, line


def test_full_standard_output_is_one_error_message(tmp_path: Path) -> None:
    lines = [line for line in LINES if line not in ("bogus", "rules check -")]
    for line, ((code, _, errors),) in zip(lines, outcomes(tmp_path, lines, (">/dev/full",)), strict=True):
        assert code == 1, line
        assert errors.startswith("Error: "), line
        assert errors.count("No space left on device") == 1, line
        assert "Traceback" not in errors, line
    assert "/-" not in errors


@pytest.mark.parametrize("redirection", ["<&-", "2>&-"])
def test_serve_works_with_a_closed_stream(tmp_path: Path, redirection: str) -> None:
    program = ("sh", "-c", f'exec "$@" {redirection}', "sh", *PROGRAM)
    line = "serve --listen 127.0.0.1:0 --web 127.0.0.1:0 --format json"
    with started(line.split(), environment(XDG_DATA_HOME=str(tmp_path)), program) as process:
        site = json.loads(first_line(process))["web"]
        with urlopen(site, timeout=PATIENCE) as page:
            assert page.status == 200
        process.terminate()
        code, errors = exit_code_and_errors(process)
    assert code == 0
    assert "website_restarted" not in errors


def numbers(text: str) -> list[str]:
    """Return the numbers and percentages in a text, in order."""
    return [word for word in text.split() if word.strip("-+±%,.½").isdigit()]


@pytest.mark.parametrize("columns", [0, 1, 5, 20, 40, 80])
def test_narrow_output_keeps_every_number_whole(tmp_path: Path, columns: int) -> None:
    games = tmp_path / "games.csv"
    games.write_text("white,black,result\n" + "ada,bob,1-0\nbob,ada,1/2-1/2\nada,bob,0-1\n" * 40)
    for line in (["rate", str(games)], ["variants"]):
        wide, narrow = (run_here(line, environment(COLUMNS=str(width))).stdout for width in (200, columns))
        assert numbers(wide)
        assert sorted(numbers(narrow)) == sorted(numbers(wide))


def test_zero_columns_mean_that_the_width_is_unknown(tmp_path: Path) -> None:
    for line in (["variants"], ["--help"]):
        zero, usual = (run_noughts(line, environment(COLUMNS=columns)).stdout for columns in ("0", "80"))
        assert zero == usual


def test_status_prints_once_on_a_dumb_terminal(tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    with server_in_thread(f"sqlite:///{tmp_path / 'games.db'}") as address:
        line = [*PROGRAM, "status", "--server", address]
        process = subprocess.run(line, env=environment(TERM="dumb"), stdout=follower, timeout=60, check=False)
    os.close(follower)
    assert process.returncode == 0
    printed = b""
    try:
        while piece := os.read(leader, 65_536):
            printed += piece
    except OSError:  # the other end of the terminal is closed
        pass
    os.close(leader)
    assert f"at {address} serving" in printed.decode()


@pytest.mark.at_length
@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"LC_ALL": "C"},
        {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"XDG_RUNTIME_DIR": "/missing", "TERM": "dumb"},
    ],
    ids=str,
)
def test_commands_are_silent_in_any_environment(tmp_path: Path, variables: dict[str, str]) -> None:
    env = {"PATH": os.defpath, "HOME": str(tmp_path), "PYTHONWARNINGS": "default", **variables}
    for line in (
        "match random first-free --db games.db",
        "bot list",
        "db check --db games.db",
        "token list --db games.db",
    ):
        process = subprocess.run(
            [*PROGRAM, *line.split()], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )
        assert (process.returncode, process.stderr) == (0, ""), line
        assert process.stdout
