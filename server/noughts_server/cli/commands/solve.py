"""The command `noughts solve`."""

from typing import Annotated

from typer import Argument, Option

from noughts_bots.reference.analysis import Analyst
from noughts_bots.reference.exact import MOST_FREE_CELLS, Verdict, can_solve
from noughts_referee.rules import Position, Variant, cell_name, cell_names
from noughts_server.cli import completion, printing
from noughts_server.cli.command import command
from noughts_server.cli.errors import UsageProblem, problems_with
from noughts_server.cli.options.game import read_variant
from noughts_server.cli.options.output import OutputOptions
from noughts_server.openings.legality import OpeningError, check_opening
from noughts_server.openings.reading import read_opening
from noughts_server.records.explaining import VALUES

_THREATS_NODES = 40_000


@command(
    example="""
$ noughts solve tictactoe --moves a1,b2
X to move: draw. Best: a3 b3 c3 a2 c2 b1 c1

$ noughts solve mnk:4,4,3
X to move: win in 5 plies. Best: b3 c3 b2 c2

$ noughts solve gomoku --moves h8,a1,i8,a3,j8,a5
X to move: win in at most 3 plies. Best: g8
"""
)
def solve(
    variant: Annotated[str, Argument(metavar="VARIANT", autocompletion=completion.variants, help="Variant")],
    moves: Annotated[str, Option("--moves", metavar="CELLS", help="Moves so far: `b2,a1`; with layers `2b2`")] = "",
    positions: Annotated[
        int, Option("--positions", metavar="N", min=1, max=10**7, help="Maximum number of positions")
    ] = 500_000,
    *,
    output: OutputOptions,
) -> None:
    """Print the exact value of a position for the side to move, and the best moves.

    The value is win, draw or loss, with the number of plies until the end if both sides play best. The best moves win
    soonest or lose latest. A position can be solved if at most 28 cells are free, in variants without forbidden moves
    and without blocked lines: e.g. all of `mnk:4,4,3`, `connect4` after 14 moves. In other positions, and if the search
    needs more than `--positions`, the bot `threats` looks for a forced win. If it finds none, the value is unknown.
    """
    position = _position(rules := read_variant(variant, called="VARIANT"), moves)
    with printing.stderr().status("Solving"):
        threats_verdict = Analyst(rules, positions=positions, nodes=_THREATS_NODES).verdict(position)
    if threats_verdict is None and not can_solve(position):
        raise UsageProblem(
            (
                f"{rules.name} cannot be solved here: {rules.cells - position.ply} cells are free, expected at "
                f"most {MOST_FREE_CELLS}, and no forbidden moves or blocked lines"
            ),
            (
                "Add --moves, or choose a smaller board. `noughts bot list --reference` says on which boards "
                "`threats` finds wins."
            ),
        )
    result, plies, best, exact = threats_verdict or Verdict(None, None, (), exact=False)
    document: dict[str, object] = {"variant": rules.name, "position": str(position), "value": VALUES[result]}
    best = () if result is None else best
    document |= {"plies": plies, "exact": exact, "best": [cell_name(rules, cell) for cell in best]}
    within = "" if plies is None else f" in {'' if exact else 'at most '}{printing.count(plies, 'ply', 'plies')}"
    text = "; no forced win found" if result is None else f". Best: {cell_names(rules, best)}"
    output.show(document, f"{'XO'[position.side]} to move: {VALUES[result]}{within}{text}")
    if can_solve(position) and not exact:
        output.hint(f"The search ended after {positions:,} positions; --positions N allows more.")


def _position(variant: Variant, moves: str) -> Position:
    """Return the position after these moves. Raises UsageProblem."""
    with problems_with("--moves", OpeningError, hint="Write legal moves by name, after which nobody has won."):
        cells = read_opening(moves.strip() or "[]", variant)
        if cells:
            check_opening(variant, cells)
        return Position.after(variant, cells)
