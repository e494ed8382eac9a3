"""The command `noughts sprt`."""

from typing import Annotated, Any

from typer import Option

from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.drawing.estimate_lines import decision_text, elo_line, llr_text, normalized_text
from noughts_server.cli.errors import UsageProblem, problems_with
from noughts_server.cli.options.output import OutputOptions
from noughts_server.statistics.estimate import Estimate, Pentanomial, WinsDrawsLosses, estimate
from noughts_server.statistics.sprt import Sprt, SprtError, SprtModel
from noughts_server.statistics.sprt_plan import TrueStrength, plan

_LARGEST_COUNT = 1_000_000_000_000


@command(
    example="""
$ noughts sprt --wins 120 --draws 300 --losses 90 --elo0 0 --elo1 10
LLR 1.59 (-2.94 to 2.94): not decided yet after 510 games
Elo difference: +20 ± 19 (95 %) with a likelihood of 98.1% that A is stronger
...

$ noughts sprt --elo1 10 --plan 5 --draw-rate 0.3
...
  7,332 games on average; 19,239 suffice in 95 % of all tests
...
""",
    extra="server",
)
def sprt(
    wins: Annotated[int, Option("--wins", metavar="N", min=0, max=_LARGEST_COUNT, help="Games that A won")] = 0,
    draws: Annotated[int, Option("--draws", metavar="N", min=0, max=_LARGEST_COUNT, help="Drawn games")] = 0,
    losses: Annotated[int, Option("--losses", metavar="N", min=0, max=_LARGEST_COUNT, help="Games that A lost")] = 0,
    penta: Annotated[
        str | None,
        Option(
            "--penta", metavar="LL,LD,WL+DD,WD,WW", help="Counts of pairs in which A scored 0, 0.5, 1, 1.5 and 2 points"
        ),
    ] = None,
    elo0: Annotated[float, Option("--elo0", metavar="ELO", help="Elo difference under H0")] = 0.0,
    elo1: Annotated[float, Option("--elo1", metavar="ELO", help="Elo difference under H1")] = 5.0,
    alpha: Annotated[float, Option("--alpha", metavar="P", help="Probability of accepting H1 if H0 is true")] = 0.05,
    beta: Annotated[float, Option("--beta", metavar="P", help="Probability of accepting H0 if H1 is true")] = 0.05,
    model: Annotated[
        str, Option("--model", metavar="MODEL", help="Scale of elo0 and elo1: `logistic` or `normalized`")
    ] = "logistic",
    plan: Annotated[
        float | None,
        Option("--plan", metavar="ELO", help="Expected number of games if A is stronger by this much; needs no counts"),
    ] = None,
    draw_rate: Annotated[float, Option("--draw-rate", metavar="SHARE", help="Share of draws (with --plan)")] = 0.2,
    advantage: Annotated[
        float, Option("--advantage", metavar="ELO", help="First-move advantage in Elo (with --plan)")
    ] = 0.0,
    *,
    output: OutputOptions,
) -> None:
    """Run a generalised sequential probability ratio test on counts, or plan the number of games.

    Counts are of games (--wins, --draws, --losses) or of colour-swapped pairs (--penta), which are more precise. An
    empty cell counts as 0.001. --plan needs no counts: it prints the mean number of games, and the number that suffices
    in 95 % of all tests. Both come from the Brownian motion that the LLR approaches over many games, with pairs as its
    steps.
    """
    if model not in set(SprtModel):
        raise UsageProblem(f"--model {model!r}: expected {' or '.join(f'`{name}`' for name in SprtModel)}")
    with problems_with("sprt", SprtError):
        test = Sprt(elo0, elo1, alpha, beta, SprtModel(model))
    if plan is not None:
        if wins or draws or losses or penta is not None:
            raise UsageProblem("--plan: got counts as well, expected one of the two")
        _plan(output, test, plan, draw_rate, advantage)
        return
    if penta is not None and (wins or draws or losses):
        raise UsageProblem("--penta: got counts of games as well, expected one of the two")
    if penta is not None:
        pairs = Pentanomial(*_read_pentanomial(penta))
        _show(output, test, pairs, 2 * pairs.pairs, estimate(pairs=pairs))
    else:
        games = WinsDrawsLosses(wins, draws, losses)
        _show(output, test, (losses, draws, wins), wins + draws + losses, estimate(games=games))


def _read_pentanomial(text: str) -> list[int]:
    cells = text.split(",")
    try:
        counts = [int(cell) for cell in cells]
    except ValueError:
        counts = []
    if len(counts) != 5 or not all(0 <= count <= _LARGEST_COUNT for count in counts):
        raise UsageProblem(
            f"--penta {text!r}: expected five counts LL,LD,WL+DD,WD,WW as in 5,20,50,22,8",
            ("Count pairs in this order: LL (A lost both games), LD (a loss and a draw), WL+DD (one point), WD, WW."),
        )
    return counts


def _show(output: OutputOptions, test: Sprt, counts: tuple[int, ...], games: int, estimate: Estimate) -> None:
    state = test.judge(counts)
    document: dict[str, Any] = {
        **state._asdict(),
        "elo": estimate.value,
        "error95": estimate.error95,
        "los": estimate.los,
        "normalized_elo": estimate.normalized,
        "normalized_error95": estimate.normalized_error95,
        "games": games,
    }
    lines = (
        f"{llr_text(state)}: {decision_text(state)} after {printing.count(games, 'game')}",
        elo_line("A", estimate, pairs=len(counts) == 5),
        f"Normalized Elo: {normalized_text(estimate)}",
        f"Test: {test}",
    )
    output.show(document, "\n".join(lines))


def _plan(output: OutputOptions, test: Sprt, elo: float, draw_rate: float, advantage: float) -> None:
    with problems_with("--plan", SprtError):
        planned = plan(test, TrueStrength(elo, draw_rate, advantage))
    moving = f", moving first worth {advantage:+g}" if advantage else ""
    lines = (
        f"Test: {test}",
        f"If A is {elo:+g} Elo in truth, with {draw_rate:.0%} draws{moving}:",
        f"  {planned.expected_games:,.0f} games on average; {planned.games95:,.0f} suffice in 95 % of all tests",
        f"  H1 is accepted in {planned.pass_probability:.1%} of all tests",
        "Computed as a Brownian motion whose steps are colour-swapped pairs of games.",
    )
    output.show({**planned._asdict(), "lower": test.lower, "upper": test.upper}, "\n".join(lines))
