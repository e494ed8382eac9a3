"""Programs that read one question per line, `lines:`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from noughts_bots.hosts import FOLDER_VARIABLE, bot_for
from noughts_bots.hosts.lines import LinesBot, question, read_answer
from noughts_bots.reference.specs import parse_spec, speech
from noughts_bots.sdk.bot import Move, Resign
from noughts_bots.sdk.errors import BotSpecError
from noughts_proto.child_kinds import Speech
from noughts_referee.children.command import resolve
from noughts_referee.children.launcher import ChildCommand
from noughts_referee.rules import Position, parse_variant
from tests.bots.hosts.children import Child

TICTACTOE = parse_variant("tictactoe")


def program(folder: Path, body: str) -> str:
    """Write a program that runs this code for each question, and return its command."""
    file = folder / "program.py"
    indented = "\n".join(f"    {line}" for line in body.splitlines())
    file.write_text(f"import os, sys\nfor number, line in enumerate(iter(sys.stdin.readline, '')):\n{indented}\n")
    return shlex.join([sys.executable, str(file)])


@contextmanager
def lines_bot(command: str) -> Iterator[LinesBot]:
    bot = bot_for("lines", command, {})
    assert isinstance(bot, LinesBot)
    try:
        yield bot
    finally:
        bot.close()


@pytest.mark.parametrize(
    "variant, moves, line",
    [
        ("tictactoe", [], "tictactoe 0"),
        ("tictactoe", [4, 2, 7], "tictactoe 1 4 2 7"),
        ("mnk:7,6,4", [41, 0], "mnk:7,6,4 0 41 0"),
        ("gomoku:exact", [224], "gomoku:exact 1 224"),
    ],
)
def test_a_question_is_the_variant_the_side_to_move_and_the_moves(variant: str, moves: list[int], line: str) -> None:
    assert question(Position.after(parse_variant(variant), moves)) == line


@pytest.mark.parametrize("kind", ["lines", "py"])
def test_spec_declares_the_variants_of_a_hosted_bot(kind: str, tmp_path: Path) -> None:
    target = {
        "lines": program(tmp_path, "print(0, flush=True)"),
        "py": "noughts_bots.adapters.kaggle:Submission",
    }[kind]
    (tmp_path / "agent.py").write_text("def agent(seen): return 0")
    file = f"file={tmp_path / 'agent.py'}," if kind == "py" else ""
    spec = parse_spec(f"{kind}{{{file}variants=tictactoe mnk:7,7,4 mnk cells<=16}}:{target}")
    assert parse_spec(str(spec)) == spec
    with Child(spec.kind, spec.target, *(f"{key}={value}" for key, value in spec.options.items())) as child:
        assert list(child.hello().variants) == ["tictactoe", "mnk:7,7,4", "mnk", "cells<=16"]


def test_unknown_variant_in_a_spec_is_refused() -> None:
    with pytest.raises(BotSpecError, match=r"option variants: got tictaktoe, expected .* did you mean tictactoe"):
        bot_for("lines", "true", {"variants": "connect4 tictaktoe"})


def test_a_file_named_like_a_variant_does_not_change_the_declaration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tictactoe").touch()
    command = resolve(ChildCommand("lines", "true", {"variants": "tictactoe"}))
    assert command.options == {"variants": "tictactoe"}
    assert str(tmp_path / "tictactoe") not in command.readable


@pytest.mark.parametrize(
    "line, move", [("8", Move(8)), (" 8 ", Move(8)), ("8 0.5", Move(8, 0.5)), ("8 -3", Move(8, -3.0)), ("-1", Move(-1))]
)
def test_an_answer_is_a_cell_and_possibly_a_score(line: str, move: Move) -> None:
    assert read_answer(line) == move


@pytest.mark.parametrize(
    "line", ["", "h8", "\N{ARABIC-INDIC DIGIT THREE}", "8,8", "8 9 10", "8 high", "Resign", "x" * 100]
)
def test_an_error_quotes_a_line_that_is_not_an_answer(line: str) -> None:
    with pytest.raises(ValueError, match="expected a cell, a cell and a score, or resign"):
        read_answer(line)


def test_a_program_resigns_with_a_reason_or_without() -> None:
    with pytest.raises(Resign, match=r"^$"):
        read_answer("resign")
    with pytest.raises(Resign, match=r"^out of ideas$"):
        read_answer("resign out of ideas")


def test_one_process_answers_all_questions_in_their_order(tmp_path: Path) -> None:
    with lines_bot(program(tmp_path, "print(number, flush=True)")) as bot:
        assert [bot.choose(Position(TICTACTOE)).cell for _ in range(5)] == [0, 1, 2, 3, 4]


def test_program_in_the_users_folder_starts_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bot_file = tmp_path / "bot"
    bot_file.write_text("#!/bin/sh\nwhile read -r line; do echo 4; done\n")
    bot_file.chmod(0o755)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    with lines_bot(str(bot_file)) as bot:
        assert bot.choose(Position(TICTACTOE)).cell == 4


def test_after_a_wrong_answer_a_new_process_is_asked(tmp_path: Path) -> None:
    chatty = "print('thinking', number, flush=True); print(number, flush=True)"
    with lines_bot(program(tmp_path, chatty)) as bot:
        for _ in range(3):
            with pytest.raises(Resign, match="the program answered 'thinking 0', expected a cell"):
                bot.choose(Position(TICTACTOE))


def test_a_line_without_an_end_is_cut(tmp_path: Path) -> None:
    with (
        lines_bot(program(tmp_path, "print('8' * 1_000_000, flush=True)")) as bot,
        pytest.raises(Resign, match="answered with a line of 4,096 bytes or more"),
    ):
        bot.choose(Position(TICTACTOE))


@pytest.mark.parametrize(
    "body, code, explanation",
    [
        ("sys.exit(3)", 3, "the program has ended with exit code 3"),
        ("raise ValueError", 1, "the program has ended with exit code 1"),
        ("os.kill(os.getpid(), 9)", 137, "the program was ended by signal 9"),
    ],
)
def test_the_host_ends_with_the_exit_code_of_its_program(
    tmp_path: Path, body: str, code: int, explanation: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with lines_bot(program(tmp_path, body)) as bot, pytest.raises(SystemExit) as raised:
        bot.choose(Position(TICTACTOE))
    assert raised.value.code == code
    assert explanation in capfd.readouterr().err


def test_a_program_that_does_not_end_is_killed(tmp_path: Path) -> None:
    stubborn = "print(number, flush=True)\nwhile number == 1:\n    pass"
    bot = bot_for("lines", program(tmp_path, stubborn), {})
    assert isinstance(bot, LinesBot)
    assert bot.choose(Position(TICTACTOE)).cell == 0
    assert bot.choose(Position(TICTACTOE)).cell == 1
    bot.close()


@pytest.mark.parametrize(
    "target, complaint",
    [("./no-such-program", "got ./no-such-program: No such file"), ("python 'x", "got no closing quotation")],
)
def test_a_program_that_cannot_start_is_an_error(target: str, complaint: str) -> None:
    with pytest.raises(BotSpecError, match=complaint):
        bot_for("lines", target, {})


@pytest.mark.parametrize(
    "spec, spoken",
    [
        ("exec:a", Speech.FRAMES),
        ("exec{frames=binary}:a", Speech.FRAMES),
        ("exec{frames=json}:a", Speech.JSON),
        ("exec{dial=true}:a", Speech.STREAM),
        ("exec{dial=false,frames=json}:a", Speech.JSON),
        ("lines:a", Speech.FRAMES),
        ("py{frames=json}:a.py:A", Speech.FRAMES),
    ],
)
def test_options_of_a_program_choose_its_protocol(spec: str, spoken: Speech) -> None:
    assert speech(parse_spec(spec)) is spoken


@pytest.mark.parametrize(
    "spec, complaint",
    [
        ("exec{frames=xml}:a", "option frames: got xml, expected binary or json"),
        ("exec{dial=true,frames=json}:a", "got dial=true and frames=json, expected one of them"),
        ("exec{frame=json}:a", "got options frame, expected none but dial or frames"),
        ("lines{depth=3}:a", "got options depth, expected none but variants; put arguments of the program"),
    ],
)
def test_unknown_options_of_a_program_are_refused(spec: str, complaint: str) -> None:
    with pytest.raises(BotSpecError, match=complaint):
        speech(parse_spec(spec))
