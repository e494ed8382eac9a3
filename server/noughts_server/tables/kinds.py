"""The kinds of tables of a tournament. Each table is made from the counts of a `Tally`."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from enum import StrEnum

from noughts_bots.reference.accuracy import EFFORT_OF_GAME, Accuracy, Judges
from noughts_bots.reference.threats.effort import Effort
from noughts_referee.rules import VariantError, cell_name, in_words, parse_variant
from noughts_server.competition.score import Score
from noughts_server.core.natural_order import natural_key
from noughts_server.tables.accuracy import LEAST_DECISIONS, shown_accuracy
from noughts_server.tables.crosstable import Crosstable
from noughts_server.tables.pairings import pairings_table
from noughts_server.tables.standings import BRACKET_RANKED_BY, RANKED_BY, TIE_BREAKS, RankedEntry, tie_notes
from noughts_server.tables.table import Column, Table, Unit, Value
from noughts_server.tables.tally import Counts, Tally


class TableKind(StrEnum):
    """A kind of table. The value is its name on the command line."""

    STANDINGS = "standings"
    CROSSTABLE = "crosstable"
    PAIRINGS = "pairings"
    SIDES = "sides"
    TERMINATIONS = "terminations"
    OPENINGS = "openings"
    TIMES = "times"
    MODELS = "models"


_MOST_NOTES = 20
_EFFORT_OF_TABLE = 10 * EFFORT_OF_GAME
"""The largest effort for the accuracies of a table; see `Effort`."""

_NAME_COLUMNS = (Column("rank", "#", Unit.COUNT), Column("name", "bot"))
_SCORE_COLUMNS = tuple(Column(name, name, Unit.COUNT) for name in ("wins", "draws", "losses"))


def make_table(kind: TableKind, tally: Tally, limit: int | None = None) -> Table:
    """Return the table of this kind; `limit` is the number of rows (and of columns of the crosstable)."""
    return _MAKERS[kind](tally, limit)


def _standings(tally: Tally, limit: int | None) -> Table:
    standings = tally.standings()
    byes = tally.about.byes
    rows: list[tuple[Value, ...]] = []
    for row in standings[:limit]:
        cells = (row.rank, row.label, row.points, row.score.games, *row.score.counts)
        tie_breaks = (row.head_to_head, row.sonneborn_berger)
        rows.append((*cells, *tie_breaks, byes.get(row.label, 0)) if byes else (*cells, *tie_breaks))
    columns = (
        *_NAME_COLUMNS,
        Column("points", "points", Unit.POINTS),
        Column("games", "games", Unit.COUNT),
        *_SCORE_COLUMNS,
        Column("head_to_head", "h2h", Unit.POINTS),
        Column("sonneborn_berger", "SB", Unit.POINTS),
        *([Column("byes", "byes", Unit.COUNT)] if byes else []),
    )
    ranked_by = BRACKET_RANKED_BY if tally.has_bracket else RANKED_BY
    notes = [f"Ranked by {ranked_by}; tie-breaks in this order: {TIE_BREAKS}. Bots that are equal on all share a rank."]
    notes += [f"Tie broken: {note}" for note in tie_notes(standings)]
    notes += [tally.unknown_note] if tally.unknown_note else []
    notes += tally.about.notes()[:_MOST_NOTES]
    notes += [f"{tally.void:,} void games count nowhere."] if tally.void else []
    notes += _omission_notes(len(rows), len(standings), "entries")
    return Table(TableKind.STANDINGS, "Standings", columns, rows, notes)


def _crosstable(tally: Tally, limit: int | None) -> Table:
    standings = tally.standings()
    entries = standings[:limit]
    crosstable = tally.crosstable(entry.label for entry in entries)
    rows = [
        (entry.rank, entry.label, *(_points(crosstable, entry.label, opponent) for opponent in crosstable.labels))
        for entry in entries
    ]
    columns = (
        *_NAME_COLUMNS,
        *(Column(entry.label, str(place), Unit.POINTS) for place, entry in enumerate(entries, start=1)),
    )
    notes = ["Points of each row against the bot in that place of the table."]
    notes += _omission_notes(len(rows), len(standings), "entries")
    return Table(TableKind.CROSSTABLE, "Crosstable", columns, rows, notes)


def _points(crosstable: Crosstable, label: str, other: str) -> float | None:
    total = crosstable.total(label, other)
    return total.points if total.games else None


def _sides(tally: Tally, limit: int | None) -> Table:
    first: dict[str, Score] = dict.fromkeys(tally.labels, Score())
    second: dict[str, Score] = dict.fromkeys(tally.labels, Score())
    total = Score()
    for (first_mover, second_mover), score in tally.scores.items():
        first[first_mover] += score
        second[second_mover] += score.mirrored
        total += score
    standings = tally.standings()
    rows: list[tuple[Value, ...]] = [
        (row.rank, row.label, *_side_cells(first[row.label]), *_side_cells(second[row.label]))
        for row in standings[:limit]
    ]
    rows.append((None, "all bots", *_side_cells(total), *_side_cells(total.mirrored)))
    columns = list(_NAME_COLUMNS)
    for side, place in (("first", "1st"), ("second", "2nd")):
        titles = {"wins": f"{place} W", "draws": "D", "losses": "L"}
        columns += (Column(f"{side}_{key}", title, Unit.COUNT) for key, title in titles.items())
        columns.append(Column(f"{side}_score", "score", Unit.SHARE))
    notes = [
        "1st: the games in which the bot moved first, with its wins, draws, losses and points a game; 2nd: the others."
    ]
    notes += _omission_notes(len(rows) - 1, len(standings), "entries")
    return Table(TableKind.SIDES, "By side", columns, rows, notes)


def _side_cells(score: Score) -> tuple[int, int, int, float | None]:
    return *score.counts, _points_share(score)


def _points_share(score: Score) -> float | None:
    return score.points / score.games if score.games else None


_COUNTS_COLUMNS = (
    Column("games", "games", Unit.COUNT),
    Column("share", "share", Unit.SHARE),
    Column("first_wins", "first won", Unit.COUNT),
    Column("draws", "drawn", Unit.COUNT),
    Column("second_wins", "second won", Unit.COUNT),
    Column("first_score", "first's score", Unit.SHARE),
    Column("plies", "plies", Unit.NUMBER),
)


def _counts_cells(counts: Counts, tally: Tally) -> tuple[Value, ...]:
    score, games = counts.score, counts.games
    plies = counts.plies / games if tally.has_moves else None
    return games, games / tally.games, *score.counts, _points_share(score), plies


def _terminations(tally: Tally, limit: int | None) -> Table:
    terminations = sorted(tally.terminations.items(), key=lambda item: (-item[1].games, item[0]))
    rows = [(name, *_counts_cells(counts, tally)) for name, counts in terminations]
    faults = sorted(tally.faults.items(), key=lambda item: (-item[1].total(), natural_key(item[0])))
    most_notes = min(limit or _MOST_NOTES, _MOST_NOTES)
    notes = [f"{label} lost {_fault_counts(counts)}." for label, counts in faults[:most_notes]]
    notes += _omission_notes(len(notes), len(faults), "entries that lost through a fault")
    columns = (Column("termination", "termination"), *_COUNTS_COLUMNS)
    return Table(TableKind.TERMINATIONS, "By termination", columns, rows, notes)


def _fault_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} by {in_words(fault)}" for fault, count in sorted(counts.items()))


def _openings(tally: Tally, limit: int | None) -> Table:
    openings = sorted(tally.openings.items(), key=lambda item: (-item[1].games, item[0])) if tally.has_moves else []
    name_opening = _opening_namer(tally)
    rows = [(name_opening(cells), *_counts_cells(counts, tally)) for cells, counts in openings[:limit]]
    notes = ["plies: the mean length of the games, the opening among them."]
    if tally.games and not tally.has_moves:
        notes = ["These games have no moves, so their openings are unknown."]
    elif not any(tally.openings):
        notes = ["No game began with an opening." if openings else "No games yet."]
    notes += _omission_notes(len(rows), len(openings), "openings")
    return Table(TableKind.OPENINGS, "By opening", (Column("opening", "opening"), *_COUNTS_COLUMNS), rows, notes)


def _opening_namer(tally: Tally) -> Callable[[tuple[int, ...]], str]:
    """Return a function that returns an opening as `h8 i9`; as cell numbers if there is not one known variant."""
    try:
        (name,) = tally.variants
        variant = parse_variant(name)
    except (ValueError, VariantError):
        return lambda cells: " ".join(map(str, cells)) or "(empty board)"

    def name_cell(cell: int) -> str:
        return cell_name(variant, cell) if 0 <= cell < variant.cells else str(cell)

    return lambda cells: " ".join(map(name_cell, cells)) or "(empty board)"


def _times(tally: Tally, limit: int | None) -> Table:
    standings = tally.standings()
    entries = [row for row in standings if row.label in tally.times or tally.time_losses(row.label)]
    rows = [tuple(_time_cells(row, tally)) for row in entries[:limit]]
    columns = (
        *_NAME_COLUMNS,
        Column("moves", "moves", Unit.COUNT),
        Column("median_ms", "median ms", Unit.MILLISECONDS),
        Column("p95_ms", "95 % ms", Unit.MILLISECONDS),
        Column("max_ms", "longest ms", Unit.MILLISECONDS),
        Column("late_moves", "in margin", Unit.COUNT),
        Column("time_losses", "lost on time", Unit.COUNT),
    )
    notes = [
        "Median and 95 % are right to 0.2 %; the moves of openings are left out.",
        "in margin: moves that exceeded their limit, but not by more than the time margin.",
    ]
    if not entries:
        notes = ["No move times were kept: files have them with `--times`, databases always."]
    notes += _omission_notes(len(rows), len(entries), "entries")
    return Table(TableKind.TIMES, "Move times", columns, rows, notes)


def _time_cells(row: RankedEntry, tally: Tally) -> Iterator[Value]:
    times = tally.times.get(row.label)
    yield row.rank
    yield row.label
    yield times.count if times else 0
    for microseconds in (times.quantile(0.5), times.quantile(0.95), times.largest) if times else (None,) * 3:
        yield None if microseconds is None else microseconds / 1000
    yield tally.late_moves[row.label]
    yield tally.time_losses(row.label)


def _models(tally: Tally, limit: int | None) -> Table:
    rows_of_models = [row for row in tally.standings() if row.label in tally.models]
    ratings = _ratings(tally) if rows_of_models else {}
    accuracies, judged_games = _accuracies(tally)
    rows = [
        (
            row.rank,
            row.label,
            ratings.get(row.label),
            *_model_cells(row.label, tally),
            accuracies[row.label].decisions,
            shown_accuracy(accuracies[row.label].decisions, accuracies[row.label].blunders),
        )
        for row in rows_of_models[:limit]
    ]
    notes = [
        "legal at once: moves whose first answer was legal. Tokens and cost: the mean of a game.",
        "Ratings come from all games together, with two virtual draws for each bot.",
        "decisions: moves that could have lost a win or a draw, in positions with a known value.",
        f"accuracy: the share of decisions that kept it; shown from {LEAST_DECISIONS} decisions on.",
    ]
    games = len(tally.games_of_models)
    if judged_games < games:
        notes.append(f"Decisions come from {judged_games:,} of {games:,} games: the others were not solved.")
    if not rows_of_models:
        notes = ["No comment in these games is the record of a language model."]
    columns = (
        *_NAME_COLUMNS,
        Column("rating", "rating", Unit.COUNT),
        Column("moves", "moves", Unit.COUNT),
        Column("first_try_legal", "legal at once", Unit.SHARE),
        *(Column(name, name, Unit.COUNT) for name in ("rethinks", "illegal", "unparsable")),
        Column("input_tokens_per_game", "tokens in", Unit.NUMBER),
        Column("output_tokens_per_game", "tokens out", Unit.NUMBER),
        Column("cost_per_game", "cost", Unit.COST),
        Column("waits", "waits", Unit.COUNT),
        Column("waited_s", "waited s", Unit.NUMBER),
        Column("decisions", "decisions", Unit.COUNT),
        Column("accuracy", "accuracy", Unit.SHARE),
    )
    notes += _omission_notes(len(rows), len(rows_of_models), "entries")
    return Table(TableKind.MODELS, "Language models", columns, rows, notes)


def _model_cells(label: str, tally: Tally) -> tuple[Value, ...]:
    """Return the values after the rating; None for a mean if a part of its sum is unknown."""
    questions = tally.models[label]
    games = sum(counts.games for pair, counts in tally.pairs.items() if label in pair)

    def mean(values: Iterable[float | None]) -> float | None:
        all_values = list(values)
        return None if None in all_values or not all_values else sum(filter(None, all_values)) / games

    # By question, the verdicts on its answers.
    verdicts = [[answer.verdict for answer in question.answers] for question in questions if question.answers]
    answers = [answer for question in questions for answer in question.answers]
    waits = [wait.seconds for question in questions for wait in question.waits]
    return (
        len(verdicts),
        sum(of_question[0] == "legal" for of_question in verdicts) / len(verdicts) if verdicts else None,
        len(answers) - len(verdicts),
        sum(of_question.count("illegal") for of_question in verdicts),
        sum(of_question.count("unparsable") for of_question in verdicts),
        mean(answer.input_tokens for answer in answers),
        mean(answer.output_tokens for answer in answers),
        mean(question.cost for question in questions if question.answers),
        len(waits),
        sum(waits),
    )


def _accuracies(tally: Tally) -> tuple[defaultdict[str, Accuracy], int]:
    """Return the accuracy by label in the games of language models, and the number of games that were judged."""
    judges = Judges()
    accuracies: defaultdict[str, Accuracy] = defaultdict(Accuracy)
    effort = _EFFORT_OF_TABLE
    judged_games = 0
    for game in tally.games_of_models:
        effort_of_game = Effort(min(effort, EFFORT_OF_GAME))
        # A file can have games of unknown variants, and games that no rules allow.
        with suppress(VariantError, ValueError, IndexError):
            judge = judges.of(parse_variant(game.variant))
            sides = judge.judge(game.moves, game.first_chosen, effort_of_game)
            for label, accuracy in zip((game.first, game.second), sides, strict=True):
                accuracies[label] = accuracies[label].plus(accuracy)
            judged_games += sides[0].games
        effort -= effort_of_game.nodes
    return accuracies, judged_games


def _ratings(tally: Tally) -> dict[str, int]:
    """Return the ratings of all bots; none if the games cannot be fitted."""
    # These modules load numpy, which the other tables do not need.
    from noughts_server.statistics.batch_ratings import rate
    from noughts_server.statistics.rated_games import count_pairs

    pairs = ((*pair, score.counts) for pair, score in tally.independent_scores.items())
    with suppress(ValueError):
        players = rate(count_pairs(pairs), prior=True).players
        return {player.name: round(player.rating or 0) for player in players}
    return {}


def _omission_notes(rows: int, total: int, noun: str) -> list[str]:
    """Return the note that a table lacks rows; none if it has all."""
    return [f"The first {rows:,} of {total:,} {noun}."] if rows < total else []


def _pairings(tally: Tally, limit: int | None) -> Table:
    return pairings_table(tally.about.matches, bracket=tally.has_bracket, limit=limit)


_MAKERS: dict[TableKind, Callable[[Tally, int | None], Table]] = {
    TableKind.STANDINGS: _standings,
    TableKind.CROSSTABLE: _crosstable,
    TableKind.PAIRINGS: _pairings,
    TableKind.SIDES: _sides,
    TableKind.TERMINATIONS: _terminations,
    TableKind.OPENINGS: _openings,
    TableKind.TIMES: _times,
    TableKind.MODELS: _models,
}
