"""Tournaments with fuel for each move of a WebAssembly module: their games do not depend on the machine."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.hosting import C_EXAMPLES, compile_wasm
from tests.support.processes import (
    environment,
    eventually,
    first_line,
    json_of,
    json_of_process,
    run_here,
    run_noughts,
    started,
)

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


OPTIONS = ("--games", "20", "--seed", "5", "--fuel", "100000", "--variant", "mnk:6,6,4")


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("modules")
    sources: dict[str, str | Path] = {"guesser": C_EXAMPLES / "random.c", "spins": SPINS}
    return {name: compile_wasm(source, folder, name) for name, source in sources.items()}


@pytest.mark.at_length
def test_a_seed_gives_the_same_games_locally_and_on_a_server(modules: dict[str, Path], tmp_path: Path) -> None:
    files = []
    for concurrency in ("1", "7"):
        files.append(tmp_path / f"games{concurrency}.jsonl")
        specs = [f"{name}=wasm:{module}" for name, module in modules.items()]
        options = [*OPTIONS, "--concurrency", concurrency, "-o", str(files[-1])]
        run_noughts(["tournament", "run", *specs, "random", *options], environment())
    local_games, second_local_games = (file.read_bytes() for file in files)
    assert local_games == second_local_games
    lost = [game["fault"] for game in map(json.loads, local_games.splitlines()) if game["termination"] == "timeout"]
    assert {(fault["bot"], fault["reason"]) for fault in lost} == {
        ("spins", "gave up its move: the module used up its fuel of 100,000")
    }
    env = environment(XDG_DATA_HOME=str(tmp_path))
    words = ["serve", "--no-web", "--accept", "wasm", "--listen", "127.0.0.1:0", "--format", "json"]
    with ExitStack() as stack:
        env["NOUGHTS_SERVER"] = json.loads(first_line(stack.enter_context(started(words, env))))["grpc"]
        env["NOUGHTS_TOKEN"] = json_of_process(
            "token create --owner ada --scope play --scope organise --scope submit", env
        )["token"]
        for name, module in modules.items():
            run_noughts(["bot", "submit", str(module), "--name", name], env)
        stack.enter_context(started(["bot", "run", "random"], env))
        eventually(lambda: len(json_of("bot list --online", env)["bots"]), lambda bots: bots == 3)
        result = run_here(["tournament", "create", "cup", *OPTIONS, "--time", "1/move"], env, code=2)
        assert "--fuel 100000: the clock 1/move depends on the machine" in result.stderr
        assert (
            json.loads(run_here(["tournament", "create", "cup", *OPTIONS, "--format", "json"], env).stdout)["fuel"]
            == 100_000
        )
        run_here(["tournament", "join", "cup", "--bot", "guesser", "--bot", "spins", "--bot", "random"], env)
        run_here(["tournament", "start", "cup"], env)
        run_here(["tournament", "wait", "cup"], env)
        server_games = run_here(["game", "list", "cup", "--format", "json"], env).stdout
    assert games_by_seed(server_games) == games_by_seed(local_games.decode())


def games_by_seed(lines: str) -> list[tuple[Any, ...]]:
    """Return the games sorted by their seeds, which follow from the tournament's seed and the game's number."""
    games = [json.loads(line) for line in lines.splitlines()]
    fields = ("seed", "first", "second", "moves", "termination")
    return sorted((*(game[name] for name in fields), game.get("fault", {}).get("reason")) for game in games)


@pytest.mark.parametrize(
    "options, complaint",
    [
        (["--time", "1/move"], "--fuel 1000: the clock 1/move depends on the machine"),
        (["exec:python x.py"], "expected wasm: and reference bots"),
    ],
)
def test_fuel_is_refused_with_clocks_and_programs(options: list[str], complaint: str) -> None:
    line = ["tournament", "run", "random", "first-free", "--fuel", "1000", *options]
    assert complaint in run_here(line, environment(), code=2).stderr
