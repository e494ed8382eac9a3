"""Values that no command expects: huge numbers, and names that are not UTF-8."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.cli.conftest import Refusal
from tests.support.command_line import commands_and_groups, invoke
from tests.support.processes import environment, run_here

HUGE = "99999999999999999999"
NOT_UTF_8 = "caf\udce9"
"""The bytes `caf\\xe9` of a command line, as Python decodes them."""


def integer_options() -> Iterator[tuple[list[str], str]]:
    """Yield a command line for each option of whole numbers, and the option; the last word is its value, `HUGE`.

    The line has values for all required arguments and options.
    """
    for path, command in commands_and_groups():
        if hasattr(command, "commands"):
            continue
        required_words: list[str] = []
        names: list[str] = []
        for parameter in command.loaded.params:
            is_number = "int" in str(parameter.type_descriptor.annotation)
            option = [] if parameter.param_type_name == "argument" else parameter.opts[:1]
            if parameter.required:
                required_words += [*option, "1" if is_number else "random"]
            if option and is_number:
                names += option
        for name in names:
            yield [*path, *required_words, name, HUGE], name


def test_every_integer_option_refuses_a_huge_number() -> None:
    lines = [line for line, option in integer_options() if option != "--seed"]  # a seed is checked when it is used
    assert len(lines) > 40
    for line in lines:
        errors = run_here(line, environment(COLUMNS="200"), code=2).stderr
        assert f"Invalid value for '{line[-2]}'" in errors, line


@pytest.mark.parametrize("value", ["1.5", "many", "", HUGE])
def test_wrong_value_of_every_integer_option_is_refused_in_plain_words(value: str) -> None:
    for line, option in integer_options():
        if option != "--seed":  # a seed is checked when it is used
            errors = invoke([*line[:-1], value], code=2).stderr
            assert f"got {value!r}, expected a whole number" in errors, line


@pytest.mark.parametrize(
    "line",
    [
        "token revoke x",
        "match random random --games 0",
        "match random random --format x",
    ],
)
def test_value_of_a_wrong_kind_is_one_error(refusal: Refusal, line: str) -> None:
    refusal(line, code=2)


def test_huge_seed_is_refused(noughts: Any) -> None:
    for line in ("match random random", "tournament create x --server 127.0.0.1:1", "bot ask random"):
        assert HUGE in noughts(f"{line} --seed {HUGE}", code=2).stderr


@pytest.mark.parametrize(
    "line",
    [
        ["token", "create", "--owner", "ada", "--db", NOT_UTF_8],
        ["serve", "--no-web", "--listen", "127.0.0.1:0", "--db", NOT_UTF_8],
        ["tournament", "show", NOT_UTF_8, "--server", "127.0.0.1:1"],
        ["match", f"py:./{NOT_UTF_8}.py:Mine", "random"],
        ["bot", "submit", f"{NOT_UTF_8}.py", "--server", "127.0.0.1:1"],
        ["leaderboard", "--variant", NOT_UTF_8],
    ],
)
def test_name_that_is_not_utf_8_is_refused(line: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bot = "from noughts_bots import Bot\n\n\nclass Mine(Bot):\n    def choose(self, position):\n        return 0\n"
    (tmp_path / f"{NOT_UTF_8}.py").write_text(bot)
    errors = run_here(line, environment(XDG_DATA_HOME=str(tmp_path)), code=2).stderr
    assert any(sign in errors for sign in ("not UTF-8", "U+DCE9", r"\udce9"))
    assert "Traceback" not in errors
