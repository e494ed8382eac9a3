"""Batch ratings as JSON, and as a table with a footer."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from noughts_server.cli import printing
from noughts_server.cli.errors import problems_with
from noughts_server.statistics.rating_table import PRIOR_DRAWS, AdvantageBound, RatedPlayer, RatingTable
from noughts_server.tables.standings import PairScores

if TYPE_CHECKING:
    from noughts_server.statistics.batch_ratings import BatchRatings
_COLUMNS = (">#", "bot", ">rating", ">±", ">games", ">points", ">%", ">W", ">D", ">L", ">D%", ">opp", ">LOS")
_MOST_NAMES = 8


def ratings_document(ratings: RatingTable) -> dict[str, Any]:
    return {
        "players": [
            {
                "rank": player.rank,
                "name": player.name,
                "rating": player.rating,
                "error95": player.error95,
                "games": player.games,
                "points": player.points,
                "score": player.points / player.games if player.games else None,
                "wins": player.wins,
                "draws": player.draws,
                "losses": player.losses,
                "opposition": player.opposition,
                "los_next": player.los_next,
                "group": player.group,
            }
            for player in ratings.players
        ],
        "advantage": {"value": ratings.advantage, "error95": ratings.advantage_error95},
        "draw_rate": ratings.draw_rate,
        "groups": ratings.groups,
        "games": ratings.games,
        "prior_draws": PRIOR_DRAWS if ratings.prior else 0,
        "anchors": {player.name: player.rating for player in ratings.players if player.anchored},
    }


def print_ratings(ratings: RatingTable, matrix: "BatchRatings | None" = None) -> None:
    """Print a table for each group, and a footer. With `matrix`, also print the likelihoods for all pairs of bots."""
    console = printing.stdout()
    for number, group in enumerate(_tables(ratings)):
        if number:
            console.print()
        console.print(printing.table(_COLUMNS, map(_row, group)))
    if matrix is not None:
        console.print()
        printing.heading(console, "Likelihood that the row's bot is stronger than the column's, %")
        names = [player.name for player in ratings.players]
        columns = ("#", "bot", *(f">{place}" for place in range(1, len(names) + 1)))
        rows = zip(range(1, len(names) + 1), names, matrix.los_matrix(), strict=True)
        console.print(printing.table(columns, [(place, name, *map(_percent, row)) for place, name, row in rows]))
    console.print()
    for line in ratings_footer(ratings):
        console.print(printing.printable(line), soft_wrap=True)


def show_fit(ratings: RatingTable) -> None:
    """Print the ratings below other tables, with a heading."""
    console = printing.stdout()
    console.print()
    printing.heading(console, "Ratings from all games at once")
    print_ratings(ratings)


def _tables(ratings: RatingTable) -> list[list[RatedPlayer]]:
    """Return one table for each scale. Bots without a rating share the last table."""
    if ratings.prior:
        return [list(ratings.players)]
    groups: dict[int, list[RatedPlayer]] = {}
    without_rating = []
    for player in ratings.players:
        if player.rating is None:
            without_rating.append(player)
        else:
            groups.setdefault(player.group, []).append(player)
    tables = list(groups.values())
    return [*tables, without_rating] if without_rating else tables


def _row(player: RatedPlayer) -> tuple[object, ...]:
    return (
        "-" if player.rating is None else player.rank,
        player.name,
        printing.rating(player.rating),
        "anchor" if player.anchored else printing.rating(player.error95),
        player.games,
        printing.points(player.points),
        _percent(player.points / player.games if player.games else None),
        player.wins,
        player.draws,
        player.losses,
        _percent(player.draws / player.games if player.games else None),
        printing.rating(player.opposition),
        _percent(player.los_next),
    )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f}"


def ratings_footer(ratings: RatingTable) -> list[str]:
    """Return the lines below the table: first-move advantage, draws, groups, and the method."""
    anchors = [f"{player.name} is held at {player.rating:.0f}" for player in ratings.players if player.anchored]
    scale = "; ".join(anchors) if anchors else "the mean is 1500"
    errors = "sandwich (HC0)"
    lines = [_advantage_line(ratings)]
    if ratings.draw_rate is not None:
        lines[0] += f" Draws: {ratings.draw_rate:.1%} of {printing.count(ratings.games, 'game')}."
    if ratings.prior:
        errors = "normal approximation of the posterior"
        lines.append(f"Prior: {PRIOR_DRAWS} virtual draws of each bot against the pool's mean.")
    if len(ratings.groups) > 1:
        lines += _groups_lines(ratings)
    return [
        *lines,
        (
            f"Maximum likelihood of the logistic model, draws as half points; {scale}. ±: 95 %, {errors}. opp: "
            "mean rating of opponents. LOS: likelihood, %, to be stronger than the next."
        ),
    ]


_ADVANTAGE_UNKNOWN = {
    AdvantageBound.FINITE: "No games.",
    AdvantageBound.ABOVE_ALL: "The first mover won too often to bound the first-move advantage: taken as 0.",
    AdvantageBound.BELOW_ALL: "The second mover won too often to bound the first-move advantage: taken as 0.",
    AdvantageBound.CONFOUNDED: "The first-move advantage is inseparable from the bots' strength: taken as 0.",
}


def _advantage_line(ratings: RatingTable) -> str:
    if ratings.advantage is not None:
        error = f" ± {ratings.advantage_error95:.0f}" if ratings.advantage_error95 is not None else ""
        return f"Moving first is worth {ratings.advantage:+.0f}{error} Elo."
    return _ADVANTAGE_UNKNOWN[ratings.bound]


def _groups_lines(ratings: RatingTable) -> list[str]:
    groups = ratings.groups
    large_groups = [group for group in groups if len(group) > 1]
    single_bots = [group[0] for group in groups if len(group) == 1]
    comparison = "rest only on the prior" if ratings.prior else "cannot be compared"
    reason = f"{len(groups)} groups, because points went one way only between them"
    lines = [
        f"{reason}: ratings of different groups {comparison}.",
        *(f"  together: {_names_text(group)}" for group in large_groups),
    ]
    if single_bots:
        lines.append(f"  alone (won all, lost all, or met nobody again): {_names_text(single_bots)}")
    if not ratings.prior:
        lines.append("  --prior puts all bots on one scale, with two virtual draws per bot.")
    return lines


def _names_text(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def fit_of_pairs(labels: Iterable[str], scores: PairScores) -> "BatchRatings":
    """Return the ratings from the scores of pairs, by first mover. Raises UsageProblem for too many entries."""
    from noughts_server.statistics.batch_fit import FitError
    from noughts_server.statistics.batch_ratings import rate
    from noughts_server.statistics.rated_games import count_pairs

    with problems_with("--fit", FitError):
        return rate(count_pairs(((*pair, score.counts) for pair, score in scores.items()), labels))
