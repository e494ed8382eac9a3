"""The command `noughts demo`."""

from noughts_server.cli.command import command
from noughts_server.cli.local_games.options import LocalOptions
from noughts_server.cli.local_games.planning import make_plan
from noughts_server.cli.local_games.results import play_tournament
from noughts_server.cli.options.game import USUAL_VARIANT, SeedOption
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.tournament import PerPairOption

_SPECS = (
    "random",
    "pascal:level=0",
    "pascal:level=1",
    *(f"nextstep:depth={depth}" for depth in range(1, 10)),
    "minimax",
    "three-stage",
)

_CONCURRENCY = 256
"""Enough concurrent games for full frames."""


_HINT = "Try next: noughts match pascal:level=1 nextstep:depth=3 --games 200"


@command(
    example="""
$ noughts demo --seed 1
...
 1  minimax              18½    11     15       0    1615
 2  nextstep:depth=9     18½    11     15       0    1619
...
182 games: 94 won, 88 board full
...
""",
    extra="server",
)
def demo(games: PerPairOption = 2, seed: SeedOption = None, *, output: OutputOptions) -> None:
    """Play a round robin of fourteen reference bots, each in its own process, and rank them."""
    local_options = LocalOptions(variant=USUAL_VARIANT, games=games, seed=seed, concurrency=_CONCURRENCY)
    plan = make_plan(list(_SPECS), local_options, "Demo")
    output.hint(f"{len(plan.specs)} bots, each in its own process, {games} games per pair on a local server.")
    play_tournament(output, plan, local_options, hint=_HINT)
