"""Bots in shared libraries, `dll:`: the header, the examples, and faults of libraries."""

import shlex
import shutil
from pathlib import Path

import pytest

from noughts_bots.hosts.dll import HEADER
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.rules import parse_variant
from tests.support.hosting import (
    C99,
    C_EXAMPLES,
    CXX11,
    HostProcess,
    build_with_cargo,
    compile_library,
    load_error,
    plays_like_random,
)
from tests.support.tools import compiler, run

# A flat board, gravity, layers, and lines of exactly five.
VARIANTS = ("tictactoe", "connect4", "tictactoe3d", "gomoku:exact")
API = """
static const noughts_bot_api api = {%s};
NOUGHTS_EXPORT const noughts_bot_api *noughts_bot(void) { return &api; }
"""
PLAIN = API % "sizeof(noughts_bot_api), NOUGHTS_BOT_VERSION, play, 0, 0, 0, 0"
HEAD = """
#include "noughts_bot.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int32_t play(void *bot, const noughts_turn *turn) { (void)bot; (void)turn; %s }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("libraries")


@pytest.mark.at_length
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("standard", [C99, CXX11])
def test_a_bot_in_c_plays_the_games_of_random(folder: Path, standard: str, variant: str) -> None:
    plays_like_random("dll", compile_library(C_EXAMPLES / "random.c", folder, standard, "random"), variant)


def test_a_bot_in_rust_plays_the_games_of_random(folder: Path) -> None:
    library = build_with_cargo(folder)
    for variant in VARIANTS:
        plays_like_random("dll", library, variant)


@pytest.mark.parametrize("standard", [C99, CXX11])
def test_every_example_in_c_compiles_without_a_warning_and_plays(folder: Path, standard: str) -> None:
    # `engine.c` is not a bot: it turns bots into programs.
    sources = sorted(source for source in C_EXAMPLES.glob("*.c") if source.stem != "engine")
    assert [source.stem for source in sources] == ["lowest", "random", "reach"]
    for source in sources:
        with HostProcess("dll", compile_library(source, folder, standard, source.stem)) as child:
            assert child.hello().bot.startswith(source.stem)
            assert child.first_move() is not None
            assert child.close() == 0


@pytest.mark.at_length
@pytest.mark.parametrize("standard", [C99, CXX11])
def test_zig_compiles_on_a_machine_without_a_compiler(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, standard: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with HostProcess("dll", compile_library(C_EXAMPLES / "lowest.c", tmp_path, standard, "lowest")) as child:
        assert child.hello().bot == "lowest"
        assert child.first_move() == 0
        assert child.close() == 0


def test_without_cargo_the_test_of_rust_is_reported_as_not_tried(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("NOUGHTS_REQUIRE", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"not tried: .* Rust"):
        build_with_cargo(tmp_path)
    monkeypatch.setenv("NOUGHTS_REQUIRE", "rust")
    with pytest.raises(pytest.fail.Exception, match="no cargo here"):
        build_with_cargo(tmp_path)


def test_the_makefile_builds_the_examples(tmp_path: Path) -> None:
    shutil.copytree(C_EXAMPLES, tmp_path / "c", ignore=shutil.ignore_patterns("*.so"))
    run("make", "-s", f"INCLUDE={HEADER.parent}", f"CC={shlex.join(compiler('cc'))}", cwd=tmp_path / "c")
    assert sorted(file.name for file in (tmp_path / "c").glob("*.so")) == ["lowest.so", "random.so", "reach.so"]


@pytest.mark.parametrize(
    "variant, moves, cell",
    [
        ("tictactoe", (0, 4, 1, 8), 2),  # wins
        ("tictactoe", (0, 4, 1, 2), 6),  # blocks 2-4-6
        ("connect4", (38, 35, 31, 36, 24, 41), 17),  # wins on top of three
        ("tictactoe3d", (0, 5, 13, 7), 26),  # through the layers
        ("gomoku:exact", (0, 200, 1, 202, 2, 204, 3, 206), 4),  # exactly five
        # Cell 3 would make six in a row, which does not win, so it takes the first cell on most lines.
        ("gomoku:exact", (0, 200, 1, 202, 2, 204, 4, 206, 5, 208), 64),
    ],
)
def test_the_variant_given_to_a_library_is_enough_to_win(
    folder: Path, variant: str, moves: tuple[int, ...], cell: int
) -> None:
    with HostProcess("dll", compile_library(C_EXAMPLES / "reach.c", folder, name="reach")) as child:
        child.hello()
        assert child.ask(variant, {1: moves}, seeds={1: 1})[1] == cell


def test_a_library_gets_the_rules_of_the_variant(tmp_path: Path) -> None:
    body = """
    const noughts_variant *v = turn->variant;
    uint32_t i;
    int good = v->size == sizeof *v && turn->size == sizeof *turn && v->beside.cells && v->below.cells && turn->moves;
    printf("%u %u %u %u %u %u %u %u %d %s", v->columns, v->rows, v->layers, v->cells, v->k, v->gravity, v->exact,
           v->lines_count, good, v->name);
    for (i = v->lines.starts[0]; i < v->lines.starts[1]; i++) printf(" %u", v->lines.cells[i]);
    printf(" | %u %u %u", v->beside.starts[v->lines_count], v->shut.starts[v->lines_count], v->forbids);
    printf(" | %u %u\\n", v->below.starts[v->cells], turn->ply);
    for (i = 0; i < turn->ply; i++) printf("%u ", turn->moves[i]);
    printf("| %u %s %lld\\n", turn->side, turn->seed == 77 ? "seed" : "?", (long long)turn->own_clock_ms);
    return NOUGHTS_RESIGN;
    """
    with HostProcess("dll", compile_library(HEAD % body + PLAIN, tmp_path)) as child:
        child.hello()
        for variant, moves in (
            ("connect4", (38, 31)), ("gomoku:exact", (0, 1)), ("tictactoe3d", (5, 6)), ("caro", (2, 3)), ("renju", ()),
        ):  # fmt: skip
            assert child.ask(variant, {1: moves}, seeds={1: 77}) == {1: None}
        child.close()
        assert child.stderr_text().splitlines() == [
            "7 6 1 42 4 1 0 69 1 connect4 0 1 2 3 | 0 0 0 | 35 2",
            "38 31 | 0 seed -1",
            f"15 15 1 225 5 0 1 572 1 gomoku:exact 0 1 2 3 4 | {beside_cells('gomoku:exact')} 0 0 | 0 2",
            "0 1 | 0 seed -1",
            "3 3 3 27 3 0 0 49 1 tictactoe3d 0 1 2 | 0 0 0 | 0 2",
            "5 6 | 0 seed -1",
            f"15 15 1 225 5 0 0 572 1 caro 0 1 2 3 4 | 0 {2 * len(parse_variant('caro').blocked_ends)} 0 | 0 2",
            "2 3 | 0 seed -1",
            "15 15 1 225 5 0 0 572 1 renju 0 1 2 3 4 | 0 0 1 | 0 0",
            "| 0 seed -1",
        ]


def beside_cells(name: str) -> int:
    return sum(cells.bit_count() for cells in parse_variant(name).beside.values())


def test_a_library_gets_clocks_in_milliseconds(tmp_path: Path) -> None:
    body = "return turn->own_clock_ms == 1500 && turn->opponent_clock_ms == 2000 ? 5 : 6;"
    with HostProcess("dll", compile_library(HEAD % body + PLAIN, tmp_path)) as child:
        child.hello()
        assert child.first_move() == 6
        frame = pb.PlayResponse()
        frame.turns.own_clock_us.append(1_500_999)
        frame.turns.opponent_clock_us.append(2_000_000)
        assert child.turn({1: (6, 0)}, frame) == {1: 5}


def test_a_librarys_clock_is_the_lesser_of_clock_and_move_limit(tmp_path: Path) -> None:
    body = "return turn->own_clock_ms == 30000 && turn->opponent_clock_ms == 170000 ? 5 : 6;"
    with HostProcess("dll", compile_library(HEAD % body + PLAIN, tmp_path)) as child:
        child.hello()
        frame = pb.PlayResponse()
        frame.starts.add(
            tournament="tournaments/t", variant="mnk:9,9,5", game=[1], number=[1], side=[1], seed=[5], opponent=[0],
            opponents=["x"], move_count=[0], time={"bank_us": 180_000_000, "move_us": 30_000_000},
        )  # fmt: skip
        frame.turns.own_clock_us.append(180_000_000)
        frame.turns.opponent_clock_us.append(170_000_000)
        assert child.turn({1: (0, 0)}, frame) == {1: 5}


def test_options_reach_create_and_each_bot_is_destroyed_once(tmp_path: Path) -> None:
    source = (
        """
#include "noughts_bot.h"
#include <stdio.h>
#include <stdlib.h>
static void *create(const noughts_variant *variant, const char *options) {
    int *made = (int *)malloc(sizeof *made);
    *made = 7;
    printf("create %s %s\\n", variant->name, options);
    return made;
}
static void destroy(void *bot) { printf("destroy %d\\n", *(int *)bot); free(bot); }
static int32_t play(void *bot, const noughts_turn *turn) { (void)turn; return *(int *)bot; }
"""
        + API % 'sizeof(noughts_bot_api), NOUGHTS_BOT_VERSION, play, create, destroy, "seven", "tictactoe mnk:7,6,4"'
    )
    with HostProcess("dll", compile_library(source, tmp_path), "depth=3", "book=a=b") as child:
        hello = child.hello()
        assert (hello.bot, list(hello.variants)) == ("seven", ["tictactoe", "mnk:7,6,4"])
        assert child.ask("tictactoe", {1: (), 2: (3, 4)}, seeds={1: 1, 2: 2}) == {1: 7, 2: 7}
        assert child.ask("mnk:7,6,4", {3: ()}, seeds={3: 1}) == {3: 7}
        assert child.close() == 0
        options = "depth=3,book=a=b"
        assert child.stderr_text() == f"create tictactoe {options}\ncreate mnk:7,6,4 {options}\ndestroy 7\ndestroy 7\n"


def test_a_library_that_refuses_its_options_resigns_and_says_so_once(folder: Path) -> None:
    with HostProcess("dll", compile_library(C_EXAMPLES / "reach.c", folder, name="reach"), "choice=best") as child:
        child.hello()
        assert child.ask("tictactoe", {1: (), 2: ()}, seeds={1: 1, 2: 2}) == {1: None, 2: None}
        assert child.close() == 0
        assert child.stderr_text().splitlines() == [
            "reach: got options choice=best, expected choice=first or choice=random",
            "the library does not play tictactoe with choice=best: it resigns",
        ]


def test_printing_and_reading_of_a_library_damages_no_frame(tmp_path: Path) -> None:
    body = 'printf("thinking\\n"); puts("of 3"); fflush(stdout); return getchar() == EOF ? 3 : 8;'
    with HostProcess("dll", compile_library(HEAD % body + PLAIN, tmp_path)) as child:
        child.hello()
        assert child.first_move() == 3
        assert child.close() == 0
        assert child.stderr_text() == "thinking\nof 3\n"


@pytest.mark.parametrize("cell, answer", [(-1, None), (-99, None), (9, 0xFFFFFFFF), (8, 8)])
def test_negative_cells_resign_and_cells_off_the_board_are_passed_on(
    tmp_path: Path, cell: int, answer: int | None
) -> None:
    with HostProcess("dll", compile_library(HEAD % f"return {cell};" + PLAIN, tmp_path)) as child:
        child.hello()
        assert child.first_move() == answer


@pytest.mark.parametrize(
    "table, complaint",
    [
        ("sizeof(noughts_bot_api), 2, play, 0, 0, 0, 0", "got version 2 of the interface, expected version 1; compile"),
        (
            "8, NOUGHTS_BOT_VERSION, play, 0, 0, 0, 0",
            "got a table of 8 bytes, expected at least 16, which include `play`",
        ),
        ("sizeof(noughts_bot_api), NOUGHTS_BOT_VERSION, 0, 0, 0, 0, 0", "got no function `play`"),
    ],
)
def test_an_unusable_table_of_a_library_is_refused_in_one_line(tmp_path: Path, table: str, complaint: str) -> None:
    source = (HEAD % "return 0;") + (API % table) + "int32_t (*used)(void *, const noughts_turn *) = play;\n"
    error = load_error("dll", compile_library(source, tmp_path))
    assert error.startswith("bot 'dll:")
    assert complaint in error


def test_libraries_of_older_and_newer_headers_play(tmp_path: Path) -> None:
    older = HEAD % "return 6;" + API % "16, NOUGHTS_BOT_VERSION, play, 0, 0, 0, 0"
    older = older.replace('"noughts_bot.h"', '"noughts_bot.h"\n#define UNREADABLE ((const char *)1)')
    older = older.replace("play, 0, 0, 0, 0", "play, 0, 0, UNREADABLE, UNREADABLE")
    newer = (
        HEAD % "return 7;"
        + """
static const struct { noughts_bot_api known; const char *appended; } table = {
    {sizeof table, NOUGHTS_BOT_VERSION, play, 0, 0, "newer", 0}, "later"};
NOUGHTS_EXPORT const noughts_bot_api *noughts_bot(void) { return &table.known; }
"""
    )
    for source, name, cell in ((older, "", 6), (newer, "newer", 7)):
        with HostProcess("dll", compile_library(source, tmp_path, name=f"bot{cell}")) as child:
            assert child.hello().bot == name
            assert child.first_move() == cell


def test_a_file_that_is_not_a_library_is_refused_in_one_line(tmp_path: Path) -> None:
    assert "which is not a file" in load_error("dll", tmp_path / "nothing.so")
    text = tmp_path / "text.so"
    text.write_text("#!/bin/sh\n")
    assert "a file that begins with b'#!/bin/s', expected a shared library (ELF)" in load_error("dll", text)
    broken = tmp_path / "broken.so"
    broken.write_bytes(compile_library(HEAD % "return 0;" + PLAIN, tmp_path).read_bytes()[:200])
    assert "expected a library that can be loaded" in load_error("dll", broken)
    no_symbol = compile_library(
        "int something_else(void);\nint something_else(void) { return 1; }\n", tmp_path, name="other"
    )
    assert "got no symbol noughts_bot" in load_error("dll", no_symbol)
    null = (
        HEAD % "return 0;"
        + """
int32_t (*used)(void *, const noughts_turn *) = play;
NOUGHTS_EXPORT const noughts_bot_api *noughts_bot(void) { return 0; }
"""
    )
    assert "got NULL from noughts_bot()" in load_error("dll", compile_library(null, tmp_path, name="null"))


def test_relative_paths_are_looked_for_in_the_folder_of_the_environment(folder: Path, tmp_path: Path) -> None:
    library = compile_library(C_EXAMPLES / "lowest.c", folder, name="lowest")
    environment = {"NOUGHTS_FOLDER": str(library.parent)}
    with HostProcess("dll", f"./{library.name}", env=environment, cwd=tmp_path) as child:
        assert child.hello().bot == "lowest"
    assert "which is not a file" in load_error("dll", f"./{library.name}", cwd=tmp_path)
