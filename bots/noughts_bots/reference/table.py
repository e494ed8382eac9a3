"""`table`: chooses moves at random according to ratings in a file."""

from collections.abc import Callable
from pathlib import Path

from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.candidate_bot import CandidateBot, Evaluation, best_of
from noughts_bots.reference.positions import positions
from noughts_bots.reference.table_file import Key, Row, TableFile, load, position_of
from noughts_bots.sdk.built_in_bot import BuiltInBot
from noughts_bots.sdk.errors import BotSpecError, VariantRefused
from noughts_referee.rules import Position, Variant


class Table(CachingBot):
    """Looks up the position and chooses by the ratings of its cells. Missing positions have equal ratings.

    Source: article 000, last part: a table that translates `Kl` into `Ray`, with `SelectCell`.

    Args:
        file: the table, in the form of `docs/reference/tables.md`. It is read once, here. A relative path starts
            from the working directory.
        level: 0 takes a cell with a probability proportional to its rating, 1 one of the highest rated. Default: the
            level in the file.

    Raises:
        TableError: the file is missing or not a table.
    """

    name = "table"
    boards = "the variant of its file"
    heeds_forbidden_moves = True

    def __init__(self, file: Path, level: int | None = None) -> None:
        super().__init__()
        self.file = file
        table = load(file)
        self._variant = table.variant
        self.variants = (table.variant.name,)
        level = table.level if level is None else level
        self._answers = {
            key: _evaluation(row, position_of(table.variant, key), level) for key, row in table.rows.items()
        }

    def plays(self, variant: Variant) -> bool:
        return variant is self._variant

    def require(self, variant: Variant) -> None:
        if not self.plays(variant):
            raise wrong_variant(self.name, self.file, variant, self._variant)

    def consider(self, position: Position) -> Evaluation:
        answer = self._answers.get((position.own, position.opponent))
        if answer is None or position.variant is not self._variant:
            self.require(position.variant)
            return Evaluation(position.free)
        return answer


def wrong_variant(name: str, file: Path, wanted_variant: Variant, table_variant: Variant) -> VariantRefused:
    """Return the error for a variant that is not the one of the bot's file."""
    advice = f"choose that variant (--variant {table_variant.name}), or another file"
    return VariantRefused(f"bot '{name}', file {file}", f"variant {wanted_variant.name}", table_variant.name, advice)


def _evaluation(row: Row, position: Position, level: int) -> Evaluation:
    scores = {cell: row.ratings[cell] for cell in position.free}
    if level == 1:
        return best_of(scores)
    rated_cells = tuple(cell for cell in scores if scores[cell])
    return Evaluation(rated_cells or position.free, tuple(scores[cell] for cell in rated_cells), scores)


def build(bot: BuiltInBot, variant: Variant, progress: Callable[[int, int], None]) -> TableFile:
    """Return a table with which `table` plays exactly like the bot: in every position the same cells and probabilities.

    If one of the levels makes the same choice from the bot's scores in all positions, the scores are the ratings.
    Otherwise the ratings are the probabilities of the cells, for level 0.

    Args:
        progress: called with the number of finished positions and the number of all positions.

    Raises:
        BotSpecError: the bot's choice depends on more than the position.
        VariantRefused: the bot does not play the variant, or the board is too large.
    """
    if bot.changes or not isinstance(bot, CandidateBot):
        advice = "choose a bot whose choice depends only on the position"
        raise BotSpecError(f"bot '{bot.name}'", f"a bot whose choice depends on {bot.changes}", "ratings", advice)
    bot.require(variant)
    answers: dict[Key, Evaluation] = {}
    all_positions = positions(variant)
    for position in all_positions:
        answers[position.own, position.opponent] = bot.consider(position)
        progress(len(answers), len(all_positions))
    for level in (1, 0):
        if all(_follows(answer, level) for answer in answers.values()):
            rows = {key: Row(_by_cell(variant, answer.scores)) for key, answer in answers.items()}
            return TableFile(variant, level, rows=rows)
    rows = {}
    for key, answer in answers.items():
        weights = answer.weights or (1,) * len(answer.candidates)
        rows[key] = Row(_by_cell(variant, dict(zip(answer.candidates, weights, strict=True))))
    return TableFile(variant, 0, rows=rows)


def _follows(answer: Evaluation, level: int) -> bool:
    """Return whether this level of `table` makes the same choice from the scores."""
    scores = answer.scores
    if not scores or min(scores.values()) < 0:
        return False
    if level == 0:
        return dict(zip(answer.candidates, answer.weights, strict=False)) == {
            cell: score for cell, score in scores.items() if score
        }
    return best_of(scores).candidates == answer.candidates and len(set(answer.weights)) <= 1


def _by_cell(variant: Variant, ratings: dict[int, int]) -> list[int]:
    return [ratings.get(cell, 0) for cell in range(variant.cells)]
