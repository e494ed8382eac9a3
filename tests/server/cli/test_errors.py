"""Explanations of errors on the command line: message, fix and exit code."""

from __future__ import annotations

import errno
import os
from typing import Any

import pytest

from noughts_bots.connection.stream import NeverConnected
from noughts_bots.sdk.errors import BotSpecError
from noughts_referee.children.sandbox import SandboxIncomplete
from noughts_referee.clock import parse_time_control
from noughts_referee.rules import parse_variant
from noughts_server.cli.errors import Problem, UsageProblem
from noughts_server.cli.explanations import explain, reporting
from noughts_server.core.errors import BadDatabaseUrl, DatabaseBusy, InvalidArgument, NotFound
from noughts_server.core.text_files import UnknownEncoding
from noughts_server.launching.relay import PlayerFailed, PlayerRefused
from noughts_server.leagues.course import LeagueProblem
from noughts_server.local.plan import LocalError, SpecRefused


def raised_by(function: Any, *arguments: Any) -> Exception:
    with pytest.raises(Exception) as raised:  # noqa: PT011  # the tests check which error it is
        function(*arguments)
    return raised.value


def test_unreadable_variants_and_times_are_usage_errors() -> None:
    for error in (raised_by(parse_variant, "chess"), raised_by(parse_time_control, "soon")):
        problem = explain(error)
        assert isinstance(problem, UsageProblem)
        assert "expected" in problem.message


def test_wrong_spec_says_got_expected_and_what_to_do() -> None:
    problem = explain(BotSpecError("bot 'nextstep', option depth", "12", "1 to 9", "choose one of these"))
    assert isinstance(problem, UsageProblem)
    assert problem.message == "bot 'nextstep', option depth: got 12, expected 1 to 9"
    assert problem.hint == "Choose one of these."


@pytest.mark.parametrize(
    "error, code",
    [
        (NotFound("tournaments/x", hint="Look."), 1),
        (DatabaseBusy(), 1),
        (BadDatabaseUrl("x://", expected="an SQLAlchemy URL"), 2),
        (InvalidArgument.of("owner", "", "a name"), 2),
        (FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "games.jsonl"), 1),
        (LocalError("bot 'x' ended", "read its log"), 1),
        (SpecRefused("bot 'x': got 1, expected 2; write 2", ""), 2),
        (PlayerFailed("it ended three times"), 1),
        (PlayerRefused("no such file"), 2),
        (LeagueProblem("no course here", "Make one."), 1),
        (UnknownEncoding("latin-99"), 2),
        (SandboxIncomplete(["seccomp"]), 1),
        (NeverConnected("could not reach it"), 1),
    ],
)
def test_each_kind_of_error_is_explained_with_its_exit_code(error: Exception, code: int) -> None:
    problem = explain(error)
    assert problem is not None
    assert problem.exit_code == code
    assert problem.message


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EMFILE])
def test_error_of_a_disk_says_what_to_do(number: int) -> None:
    problem = explain(OSError(number, os.strerror(number), "games.jsonl"))
    assert problem is not None
    assert problem.message == f"games.jsonl: {os.strerror(number)}"
    assert problem.hint


def test_error_in_a_group_of_tasks_is_found() -> None:
    group = ExceptionGroup("tasks", [ExceptionGroup("inner", [ValueError("ours")]), NotFound("games/7")])
    problem = explain(group)
    assert problem is not None
    assert problem.message == "games/7 does not exist"


def test_a_bug_of_noughts_gets_no_explanation() -> None:
    assert explain(ValueError("a bug")) is None
    assert explain(ExceptionGroup("tasks", [KeyError("a bug")])) is None


def test_a_closed_pipe_gets_no_explanation() -> None:
    assert explain(BrokenPipeError(errno.EPIPE, "Broken pipe")) is None


def test_reported_error_exits_with_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    @reporting()
    def command() -> None:
        raise Problem("the disk is full", "Delete some files.")

    with pytest.raises(SystemExit) as raised:
        command()
    assert raised.value.code == 1
    output = capsys.readouterr()
    assert output.err == "Error: the disk is full\nFix: Delete some files.\n"
    assert not output.out


def test_control_characters_of_a_message_are_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    @reporting()
    def command() -> None:
        raise Problem("a title with \x1b[2J in it [bold]and markup[/bold]")

    with pytest.raises(SystemExit):
        command()
    output = capsys.readouterr().err
    assert "\x1b" not in output
    assert "[bold]and markup[/bold]" in output


def test_interruption_exits_with_130() -> None:
    @reporting()
    def command() -> None:
        raise KeyboardInterrupt

    with pytest.raises(SystemExit) as raised:
        command()
    assert raised.value.code == 130
