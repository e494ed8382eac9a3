"""Tournaments in which nothing depends on the machine: modules with so much fuel a move."""

from pathlib import Path

import pytest

from tests.support.hosting import C_EXAMPLES, compiled_wasm
from tests.support.processes import environment, said

SPINS = """
#include "noughts_bot.h"
static volatile uint32_t turns;
static int32_t play(void *bot, const noughts_turn *turn) {
    uint32_t free_cells[900];
    (void)bot;
    noughts_free(turn, free_cells);
    for (turns = 0; turns < 200 * turn->ply * turn->ply; turns++) {
    }
    return (int32_t)free_cells[0];
}
static const noughts_bot_api api = {sizeof(noughts_bot_api), NOUGHTS_BOT_VERSION, play, 0, 0, 0, 0};
NOUGHTS_EXPORT const noughts_bot_api *noughts_bot(void) { return &api; }
"""


def test_the_same_seed_gives_the_same_games_and_who_uses_up_the_fuel_loses_on_time(tmp_path: Path) -> None:
    lots = compiled_wasm(C_EXAMPLES / "lots.c", tmp_path, "lots")
    spins = compiled_wasm(SPINS, tmp_path, "spins")
    files = []
    for number, concurrency in enumerate(("1", "7")):
        file = tmp_path / f"games{number}.jsonl"
        line = [
            "tournament",
            "run",
            f"Lots=wasm:{lots}",
            f"Spins=wasm:{spins}",
            "random",
            "--games",
            "20",
            "--seed",
            "5",
        ]
        options = ["--fuel", "100000", "--variant", "mnk:6,6,4", "--concurrency", concurrency, "-o", str(file)]
        said([*line, *options], environment())
        files.append(file.read_bytes())
    assert files[0] == files[1]
    assert b'"termination":"timeout"' in files[0].replace(b": ", b":")
    assert b"used up its fuel of 100,000" in files[0]


@pytest.mark.parametrize(
    "options, complaint",
    [
        (["--time", "1/move"], "expected none: clocks depend on the machine"),
        (["exec:python x.py"], "expected wasm: and reference bots"),
    ],
)
def test_what_would_depend_on_the_machine_is_refused(options: list[str], complaint: str) -> None:
    line = ["tournament", "run", "random", "first-free", "--fuel", "1000", *options]
    assert complaint in said(line, environment(), code=2).stderr
