"""Bots as modules of WebAssembly, `wasm:`: the examples, faults of modules, and fuel."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from wasmtime import wat2wasm

from noughts_bots.hosts.sandbox import LARGEST_MODULE
from noughts_proto.v1 import play_pb2 as pb
from tests.support.hosting import C_EXAMPLES, HostProcess, compile_library, compile_wasm, load_error, plays_like_random
from tests.support.root import ROOT
from tests.support.settings import THOROUGH
from tests.support.tools import run, zig

VARIANTS = ("tictactoe", "connect4", "tictactoe3d", "gomoku:exact")
CRASHED = 70

# The table of functions lies at 16, `play` is element 1 of the table. {play} is its body, {more} what else there is.
MODULE = r"""
(module
  {imports}
  (type $play (func (param i32 i32) (result i32)))
  (memory (export "memory") {pages})
  (table $functions (export "__indirect_function_table") {elements} funcref)
  (elem (i32.const 1) $play)
  (data (i32.const 16) "\1c\00\00\00\01\00\00\00\01")  ;; what follows is 0
  {more}
  (func $play {signature} {play})
  (func (export "noughts_bot") (result i32) {entry} (i32.const 16)))
"""
PARTS = {
    "imports": "",
    "pages": "1",
    "elements": "2",
    "more": "",
    "signature": "(param i32 i32) (result i32)",
    "play": "(i32.const 4)",
    "entry": "",
}
LOOP = "(loop $again (br $again)) (i32.const 4)"
ModuleWriter = Callable[..., Path]


@pytest.fixture
def write_module(tmp_path: Path) -> ModuleWriter:
    """A function that writes a module with these parts instead of the usual ones, and returns its path."""

    def write(**parts: str) -> Path:
        path = tmp_path / "bot.wasm"
        path.write_bytes(wat2wasm(MODULE.format(**{**PARTS, **parts})))
        return path

    return write


def trap_message_of(module: Path) -> str:
    """Ask for a move that ends the host of this module, and return the messages of the host."""
    with HostProcess("wasm", module) as child:
        child.hello()
        child.send(question())
        assert child.receive() is None
        assert child.wait_for_exit() == CRASHED
        return child.stderr_text()


def question(variant: str = "tictactoe") -> pb.PlayResponse:
    frame = pb.PlayResponse()
    frame.starts.add(
        tournament="tournaments/t", variant=variant, opponents=["x"], game=[1], number=[1], side=[1], seed=[5],
        opponent=[0], move_count=[0],
    )  # fmt: skip
    frame.turns.game.append(1)
    frame.turns.ply.append(0)
    frame.turns.cell.append(0)
    return frame


@pytest.fixture(scope="module")
def random_module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_wasm(C_EXAMPLES / "random.c", tmp_path_factory.mktemp("modules"), name="random")


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_wasm_bot_in_c_plays_the_games_of_random(random_module: Path, variant: str) -> None:
    plays_like_random("wasm", random_module, variant)


def test_the_module_and_the_library_of_one_source_play_the_same_moves(random_module: Path, tmp_path: Path) -> None:
    library = compile_library(C_EXAMPLES / "random.c", tmp_path, name="random")
    positions = {number: tuple(range(number)) for number in range(0, 40, 2)}
    seeds = {number: 7 * number + 1 for number in positions}
    answers = []
    for kind, file in (("wasm", random_module), ("dll", library)):
        with HostProcess(kind, file) as child:
            assert child.hello().bot == "random-c"
            answers.append(child.ask("mnk:12,12,5", positions, seeds=seeds))
    assert answers[0] == answers[1]
    assert len(set(answers[0].values())) > 10


@pytest.mark.skipif(not THOROUGH, reason="builds a library of C for half a minute")
def test_a_module_with_a_c_library_plays_as_the_shared_library(tmp_path: Path) -> None:
    module, source = tmp_path / "reach.wasm", C_EXAMPLES / "reach.c"
    include = ROOT / "bots" / "noughts_bots" / "include"
    target = ("-target", "wasm32-wasi", "-mexec-model=reactor", "-Wl,--export-table", "-O2", "-s")
    run(*zig(), "cc", *target, "-I", include, "-o", module, source)
    answers = []
    for kind, file in (("wasm", module), ("dll", compile_library(source, tmp_path, name="reach"))):
        with HostProcess(kind, file, "choice=random") as child:
            child.hello()
            positions = {number: tuple(range(number)) for number in range(0, 60, 2)}
            answers.append(child.ask("gomoku", positions, seeds={number: number + 1 for number in positions}))
    assert answers[0] == answers[1]
    with HostProcess("wasm", module, "choice=best") as child:
        child.hello()
        assert child.ask("tictactoe", {1: ()}, seeds={1: 1}) == {1: None}
        assert "reach: got options choice=best, expected choice=first or choice=random" in child.stderr_text()


# Modules that are refused before they play.


@pytest.mark.parametrize(
    "parts, complaint",
    [
        ({"imports": '(import "env" "system" (func (param i32)))'}, "got an import of env.system, expected only"),
        (
            {"imports": '(import "wasi_snapshot_preview1" "path_open" (func (param i32)))'},
            "an import of wasi_snapshot_preview1.path_open",
        ),
        ({"imports": '(import "noughts" "say" (func (param i64)))'}, "incompatible import type"),
        ({"pages": "3000"}, "expected at most 128 MiB of memory"),
        ({"elements": "900000"}, "100,000 table elements"),
        ({"entry": "(unreachable)"}, "expected a module that starts"),
        ({"entry": "(loop $again (br $again))"}, "got all fuel is used up, expected a module that starts"),
        ({"more": "(func $first (loop $again (br $again))) (start $first)"}, "expected a module that starts"),
        ({"signature": "(param i64 i32) (result i32)"}, "got table element 1, which does not match"),
        ({"signature": "(param i32 i32) (result i64)", "play": "(i64.const 4)"}, "which does not match"),
    ],
)  # fmt: skip
def test_a_module_that_is_not_a_bot_is_refused_in_one_line(
    write_module: ModuleWriter, parts: dict[str, str], complaint: str
) -> None:
    error = load_error("wasm", write_module(**parts))
    assert error.startswith("bot 'wasm:")
    assert complaint in error


def test_a_file_that_is_not_a_module_is_refused_in_one_line(write_module: ModuleWriter, tmp_path: Path) -> None:
    file = tmp_path / "rubbish.wasm"
    module_bytes = write_module().read_bytes()
    for rubbish in (
        b"",
        b"\0asm",
        b"#!/bin/sh\n",
        os.urandom(1000),
        module_bytes[:-9],
        b"\0asm\1\0\0\0" + os.urandom(5000),
    ):
        file.write_bytes(rubbish)
        error = load_error("wasm", file)
        assert error.startswith("bot 'wasm:")
        assert "expected" in error
    assert "No such file" in load_error("wasm", tmp_path / "nothing.wasm")
    with file.open("wb") as large:
        large.truncate(64 << 20)
    assert f"expected at most {LARGEST_MODULE:,}" in load_error("wasm", file)


def test_a_module_without_a_valid_table_is_refused_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "bot.wasm"
    module_text = MODULE.format(**PARTS)
    for changed_text, complaint in (
        (module_text.replace("(i32.const 16)))", "(i32.const 0)))"), "got NULL from noughts_bot()"),
        (module_text.replace("(i32.const 16)))", "(i32.const -8)))"), "outside of its memory"),
        (module_text.replace("\\1c\\00\\00\\00\\01", "\\1c\\00\\00\\00\\07"), "got version 7 of the interface"),
        (module_text.replace("\\1c\\00\\00\\00\\01", "\\04\\00\\00\\00\\01"), "got a table of 4 bytes"),
        (module_text.replace('"noughts_bot"', '"other"'), "got no export 'noughts_bot'"),
        (module_text.replace('(export "memory")', ""), "got no export 'memory'"),
        (module_text.replace('(export "__indirect_function_table")', ""), "link with --export-table"),
    ):
        file.write_bytes(wat2wasm(changed_text))
        assert complaint in load_error("wasm", file)


def test_fuel_that_is_not_a_number_is_refused(write_module: ModuleWriter) -> None:
    assert "option fuel: got much, expected a whole number" in load_error("wasm", write_module(), "fuel=much")


# Answers to questions.


@pytest.mark.parametrize(
    "parts, reason",
    [
        ({"play": "(unreachable)"}, "unreachable"),
        ({"play": "(i32.load (i32.const 99999999))"}, "out of bounds memory access"),
        ({"play": "(i32.div_s (i32.const 1) (i32.const 0))"}, "divide by zero"),
        ({"play": "(call $play (i32.const 0) (i32.const 0))"}, "call stack exhausted"),
        ({"play": "(call_indirect (type $play) (i32.const 0) (i32.const 0) (i32.const 0))"}, "uninitialized element"),
        (
            {
                "imports": '(import "noughts" "say" (func $say (param i32 i32)))',
                "play": "(call $say (i32.const 99999999) (i32.const 4)) (i32.const 0)",
            },
            "an import with a pointer outside of its memory",
        ),
        (
            {
                "imports": '(import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))',
                "play": "(call $exit (i32.const 3)) (i32.const 0)",
            },
            "it called exit(3)",
        ),
    ],
)  # fmt: skip
def test_a_module_that_traps_ends_its_process_with_the_reason(
    write_module: ModuleWriter, parts: dict[str, str], reason: str
) -> None:
    error = trap_message_of(write_module(**parts))
    assert error.startswith("the module trapped: ")
    assert reason in error


def test_a_loop_without_fuel_loses_on_time_and_the_module_restarts(write_module: ModuleWriter) -> None:
    # The module counts its calls in its memory and loops in the second one. After its restart it counts from 0.
    counts = (
        "(i32.store (i32.const 100) (i32.add (i32.const 1) (i32.load (i32.const 100))))"
        "(if (i32.eq (i32.load (i32.const 100)) (i32.const 2)) (then (loop $again (br $again))))"
        "(i32.load (i32.const 100))"
    )
    with HostProcess("wasm", write_module(play=counts), "fuel=100000") as child:
        child.hello()
        assert child.first_move() == 1
        child.send(question())
        moves = child.moves()
        assert (list(moves.resigned), list(moves.exhausted)) == ([0], [0])
        assert list(moves.reason) == ["the module used up its fuel of 100,000"]
        assert child.ask("tictactoe", {9: ()}, seeds={9: 1}) == {9: 1}


def test_the_fuel_of_a_move_does_not_depend_on_the_machine(write_module: ModuleWriter) -> None:
    spin = (
        "(local $left i32) (local.set $left (i32.const 1000))"
        "(loop $again (br_if $again (local.tee $left (i32.sub (local.get $left) (i32.const 1))))) (i32.const 4)"
    )
    module = write_module(play=spin)

    def suffices(fuel: int) -> bool:
        with HostProcess("wasm", module, f"fuel={fuel}") as child:
            child.hello()
            return child.first_move() == 4

    assert not suffices(4_000)
    assert suffices(7_000)
    low, high = 4_000, 7_000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    assert (suffices(low), suffices(high)) == (False, True)


def test_growth_beyond_the_memory_limit_returns_minus_1(write_module: ModuleWriter) -> None:
    growth_fails = "(i32.eq (memory.grow (i32.const 4000)) (i32.const -1))"
    grows = f"(if (result i32) {growth_fails} (then (i32.const 5)) (else (i32.const 6)))"
    with HostProcess("wasm", write_module(play=grows)) as child:
        child.hello()
        assert child.first_move() == 5


def test_a_module_prints_for_its_author_and_gets_fixed_random_numbers(write_module: ModuleWriter) -> None:
    parts = {
        "imports": '(import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))'
        '(import "noughts" "say" (func $say (param i32 i32)))',
        "more": '(data (i32.const 200) "three is fine\\0a")',
        "play": "(drop (call $random (i32.const 300) (i32.const 8))) (call $say (i32.const 200) (i32.const 14))"
        "(i32.and (i32.load (i32.const 300)) (i32.const 0xff))",
    }
    moves = []
    for _ in range(2):
        with HostProcess("wasm", write_module(**parts)) as child:
            child.hello()
            moves.append(child.first_move())
            assert child.stderr_text() == "three is fine\n"
    assert moves[0] == moves[1]


def test_the_bits_of_nan_are_the_same_on_every_machine(write_module: ModuleWriter) -> None:
    nothing = "(f64.convert_i32_u (i32.load (i32.const 1024)))"
    sign = f"(i32.wrap_i64 (i64.shr_u (i64.reinterpret_f64 (f64.div {nothing} {nothing})) (i64.const 63)))"
    with HostProcess("wasm", write_module(play=f"(i32.add (i32.const 4) {sign})")) as child:
        child.hello()
        assert child.ask("tictactoe", {1: ()}, seeds={1: 5}) == {1: 4}
