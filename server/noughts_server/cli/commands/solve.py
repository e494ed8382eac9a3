"""The command `noughts solve`."""

from collections.abc import Iterator
from typing import Annotated, Any

from typer import Argument, Option

from noughts_bots.reference.analysis import Analyst
from noughts_bots.reference.exact import Verdict, can_solve, most_free_cells
from noughts_referee.rules import Position, PositionError, Variant, cell_name, cell_names
from noughts_server.cli import completion, printing
from noughts_server.cli.command import command
from noughts_server.cli.drawing.progress import counting
from noughts_server.cli.errors import Problem, UsageProblem, problems_with
from noughts_server.cli.extras import has_extra, install_advice
from noughts_server.cli.options.effort import EffortOption
from noughts_server.cli.options.game import read_variant
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.position_lines import read_object, stdin_lines
from noughts_server.local import solving
from noughts_server.openings.legality import OpeningError, check_opening
from noughts_server.openings.reading import read_opening
from noughts_server.records.explaining import VALUES

_THREATS_NODES = 40_000
"""Positions that the search for threats visits at most."""
_CONNECT4 = "connect4"


@command(
    example="""
$ noughts solve tictactoe --moves a1,b2
X to move: draw. Best: a3 b3 c3 a2 c2 b1 c1

$ noughts solve mnk:4,4,3
X to move: win in 5 plies. Best: b3 c3 b2 c2

$ noughts solve gomoku --moves h8,a1,i8,a3,j8,a5
X to move: win in at most 3 plies. Best: g8

$ echo 'XX.OO....' | noughts solve --variant tictactoe
position     value  plies  best
...
XX.OO.... X  win        1  c3
"""
)
def solve(
    variant: Annotated[str, Argument(metavar="VARIANT", autocompletion=completion.variants, help="Variant")] = "",
    moves: Annotated[str, Option("--moves", metavar="CELLS", help="Moves so far: `b2,a1`; with layers `2b2`")] = "",
    variant_of_positions: Annotated[
        str | None,
        Option("--variant", metavar="V", autocompletion=completion.variants, help="Variant of the positions on stdin"),
    ] = None,
    effort: EffortOption = 500_000,
    *,
    output: OutputOptions,
) -> None:
    """Print the exact value of a position for the side to move, and the best moves.

    The value is win, draw or loss, with the number of plies until the end if both sides play best. The best moves win
    soonest or lose latest. A position can be solved if at most 28 cells are free, in variants without forbidden moves
    and without blocked lines: e.g. all of `mnk:4,4,3`, `connect4` after 14 moves. The extra `wasm` solves `connect4`
    after 8 moves, the extra `connect4` from the first one. In other positions, and if the search needs more than
    `--effort`, the bot `threats` looks for a forced win. If it finds none, the value is unknown.

    With --variant instead of VARIANT, the positions are on stdin, one per line, as in `noughts bot ask` or as JSON with
    a field "position". All processors solve them. With --format json the value is 1, 0 or -1, or null if it is unknown.
    """
    if variant_of_positions is not None:
        if variant or moves:
            raise UsageProblem("VARIANT and --variant: got both", "Use --variant alone to solve positions from stdin.")
        _solve_stdin(read_variant(variant_of_positions), effort, output)
        return
    if not variant:
        raise UsageProblem(
            "VARIANT: got none, expected a variant", "For example: noughts solve tictactoe --moves a1,b2"
        )
    rules = read_variant(variant, called="VARIANT")
    position = _position(rules, moves)
    with printing.stderr().status("Solving"):
        verdict = Analyst(rules, effort=effort, nodes=_THREATS_NODES).verdict(position)
    if verdict is None and not can_solve(position):
        raise UsageProblem(
            (
                f"{rules.name} cannot be solved here: {rules.cells - position.ply} cells are free, expected at "
                f"most {most_free_cells(rules)}, and no forbidden moves or blocked lines"
            ),
            _advice(rules),
        )
    result, plies, best, exact = verdict or Verdict(None, None, (), exact=False)
    document: dict[str, object] = {"variant": rules.name, "position": str(position), "value": VALUES[result]}
    best = () if result is None else best
    document |= {"plies": plies, "exact": exact, "best": [cell_name(rules, cell) for cell in best]}
    within = ""
    if plies is not None:
        at_most = "" if exact else "at most "
        within = f" in {at_most}{printing.count(plies, 'ply', 'plies')}"
    text = "; no forced win found" if result is None else f". Best: {cell_names(rules, best)}"
    output.show(document, f"{'XO'[position.side]} to move: {VALUES[result]}{within}{text}")
    if can_solve(position) and not exact:
        output.hint(f"The search ended after an effort of {effort:,}; --effort N allows more.")


def _advice(variant: Variant) -> str:
    """Return what to do if no solver reaches a position of the variant."""
    if variant.name == _CONNECT4 and not has_extra(_CONNECT4):
        return f"The extra `connect4` solves it from the first move. {install_advice(_CONNECT4)}"
    return (
        "Add --moves, or choose a smaller board. `noughts bot list --reference` says on which boards "
        "`threats` finds wins."
    )


def _solve_stdin(variant: Variant, effort: int, output: OutputOptions) -> None:
    """Print the value of each position on stdin."""
    unsolved = 0

    def documents() -> Iterator[dict[str, Any]]:
        nonlocal unsolved
        questions = _questions(variant, effort)
        with counting("Positions") as show:
            for number, (question, verdict) in enumerate(solving.verdicts(questions), start=1):
                result = None if verdict is None else verdict.result
                if result is None:
                    unsolved += 1
                yield {
                    "position": question.position,
                    "value": result,
                    "distance": None if verdict is None or result is None else verdict.plies,
                    "best": [] if verdict is None or result is None else list(verdict.best),
                }
                show(number, None)

    def print_table() -> None:
        columns = ("position", "value", ">plies", "best")
        printing.print_rows(columns, (_row(variant, document) for document in documents()), "No positions.")

    output.show_each(documents(), print_table)
    if unsolved:
        output.hint(f"{printing.count(unsolved, 'value')} unknown. {_advice(variant)}")


def _row(variant: Variant, document: dict[str, Any]) -> tuple[object, ...]:
    distance = document["distance"]
    best = cell_names(variant, document["best"])
    return document["position"], VALUES[document["value"]], "-" if distance is None else distance, best


def _questions(variant: Variant, effort: int) -> Iterator[solving.Question]:
    """Yield the positions on stdin. Raises Problem for an invalid one, UsageProblem if there are none."""
    for number, text in stdin_lines("echo 'X...O...X O' | noughts solve --variant tictactoe"):
        try:
            position = Position.parse(variant, _position_text(text))
        except (PositionError, ValueError) as error:
            raise Problem(f"line {number}: {error}") from error
        yield solving.Question(variant.name, str(position), effort=effort, nodes=_THREATS_NODES)


def _position_text(line: str) -> str:
    """Return the position of a line: the field "position" of a JSON document, or the line. Raises ValueError."""
    if not line.startswith("{"):
        return line
    if not isinstance(position := read_object(line).get("position"), str):
        raise ValueError('got no field "position" with a text')
    return position


def _position(variant: Variant, moves: str) -> Position:
    """Return the position after these moves. Raises UsageProblem."""
    with problems_with("--moves", OpeningError, hint="Write legal moves by name, after which nobody has won."):
        cells = read_opening(moves.strip() or "[]", variant)
        if cells:
            check_opening(variant, cells)
        return Position.after(variant, cells)
