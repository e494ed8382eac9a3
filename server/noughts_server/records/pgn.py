"""Results as the tags of PGN games, for Ordo, BayesElo and other programs.

Games with scores or reports of searches also have their moves, with comments as engine managers write them:
`1. h8 {+0.35/12 1.2s} i9 {-0.20/10 0.5s}`. Other moves are neither written nor read.

White is the first mover, so White's advantage in those programs is the first-move advantage. Source of the format: the
PGN specification of 1994, section 8. The reader also accepts deviations that programs write: names with unescaped
quotation marks, other characters in names of tags, spaces, games without blank lines, and results that are only after
the moves. In files of c-gomoku-cli, which the reader recognises, Black is the first mover.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from noughts_referee.rules import Termination, Thought, cell_name, read_cell
from noughts_server.core.plain_text import without_controls
from noughts_server.records.endings import termination_of
from noughts_server.records.recorded_game import (
    BYTE_ORDER_MARK,
    PlacedGame,
    RecordError,
    check_listed,
    listed_game,
    result_of,
    score_column,
    thoughts_by_ply,
    variant_of,
)
from noughts_server.tables.recorded_game import RESULTS, RecordedGame, occasion, one_line, round_of

_REQUIRED = ("White", "Black", "Result")
_ROSTER = ("Event", "Site", "Date", "Round")
_KNOWN = {
    name.lower(): name
    for name in (
        *_REQUIRED,
        "Event",
        "Date",
        "Round",
        "UTCDate",
        "TimeFactor",
        "Variant",
        "Termination",
        "TerminationDetails",
    )
}
_NAME = r'\[\s*([^\s"\[\]]+?):?\s*'
_TAG = re.compile(rf'{_NAME}"((?:[^"\\]++|\\.)*+)"\s*\]\s*')
_TAG_WITH_QUOTES = re.compile(rf'{_NAME}"(.*)"\s*\]\s*$')
_SEVERAL_TAGS = re.compile(r'"\s*\]\s*\[')
_BROKEN_TAG = re.compile(r"\[\s*(White|Black|Result)\b.*", re.IGNORECASE)
_MARK = re.compile(r"[{();]|(?<![^\s{}();])(?:1-0|0-1|1/2-1/2|1/2|½-½|\*)(?![^\s{}();])")
"""Marks among the moves: the beginning of a comment, the beginning and end of a variation, and results."""
_COMMENT = re.compile(r"\{[^}]*\}")
_LONGEST_COMMENT = 1000
"""Characters of a comment that are kept."""
_LONGEST_MOVES = 100_000
"""Characters of the moves of a game. With comments of ours, those of the largest board are shorter."""
_TOKEN = re.compile(r"\s*(?:[0-9]{1,4}\.|\{([^{}]*)\}|([^\s{}]+))")
_LARGE = 1e15
"""Scores from here on are written with an exponent, so that `_NUMBER` has no more digits."""
_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,10})?(?:e[-+][0-9]{1,2})?"
_FACTOR = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,6})?")
_JUDGEMENT = re.compile(rf"(?P<score>[-+]{_NUMBER})?/(?P<depth>[0-9]{{1,5}})(?: (?P<seconds>{_NUMBER})s)?")
_SWAPPED = {"1-0": "0-1", "0-1": "1-0"}
_C_GOMOKU_CLI_ENDING = re.compile(
    r"(?:Black|White) win by (?:five connection|opponent illegal move|adjudication|time forfeit|opponent crash)"
    r"|Black play forbidden move - .*|Draw by (?:fullfilled board|adjudication)"
)
"""The terminations that c-gomoku-cli writes, after the tags Black and White in this order."""
# The comment by which programs without the tag Termination report the end, e.g. `Black forfeits on time`.
_ENDING_COMMENT = re.compile(
    r"(?:.*, )?\S+(?:'s connection stalls| (?:loses on|forfeits|resigns|disconnects|abandons|makes an illegal)\b.*)"
)


def pgn_text(record: RecordedGame) -> str:
    """Return the tags of a game, its moves if bots reported what they thought, and its result. Raises RecordError."""
    check_listed(record)
    occasion = record.occasion
    date = ".".join([*occasion.get("date", "????").split("-"), "??", "??"][:3])
    tags = {
        "Event": without_controls(one_line(occasion.get("event", "?"))),
        "Site": "?",
        "Date": without_controls(one_line(date)),
        "Round": without_controls(one_line(record.round or "?")),
        "White": record.first,
        "Black": record.second,
        "Result": record.result,
        "TimeFactor": "" if record.time_factor is None else f"{record.time_factor:g}",
        "Variant": without_controls(one_line(record.variant)),
        "Termination": without_controls(one_line(record.termination)),
        "TerminationDetails": without_controls(one_line(record.adjudication)),
        "PlyCount": str(len(record.moves)),
    }
    lines = [f'[{name} "{_escaped(value)}"]' for name, value in tags.items() if value]
    return "\n".join([*lines, "", *_judged_moves(record), record.result, "", ""])


def _judged_moves(record: RecordedGame) -> list[str]:
    """Return the moves of a game with scores or thoughts, two a line, each with what its player thought."""
    scores, thoughts = record.scores, record.thoughts
    if not (scores or thoughts):
        return []
    try:
        variant = variant_of(record.variant)
    except RecordError:
        return []  # the tags are enough for rating programs, also of variants that are not installed here
    if not all(0 <= cell < variant.cells for cell in record.moves):
        return []
    moves = []
    for ply, cell in enumerate(record.moves):
        name = cell_name(variant, cell)
        score = scores[ply] if scores else None
        thought = thoughts.get(ply, Thought())
        time_ms = record.times_ms[ply] if ply < len(record.times_ms) else thought.time_us / 1000
        judgement = f"{_hundredths(score)}/{thought.depth}" if score is not None else f"/{thought.depth}"
        is_known = score is not None or thought.depth
        comment = " ".join([judgement] * bool(is_known) + [f"{round(time_ms / 1000, 3):g}s"] * bool(time_ms))
        moves.append(f"{name} {{{comment}}}" if is_known else name)
    return [f"{first // 2 + 1}. {' '.join(moves[first : first + 2])}" for first in range(0, len(moves), 2)]


def _hundredths(score: float) -> str:
    """Return a score as engine managers write it: engines use about 100 for a small advantage, chess programs 1."""
    return f"{score / 100:+.8g}" if score % 1 or abs(score) >= _LARGE else f"{score / 100:+.2f}"


def _units(text: str) -> float:
    """Return the score that `_hundredths` has written."""
    return float(f"{float(text) * 100:.8g}")


def read_pgn(lines: Iterable[str]) -> Iterator[PlacedGame]:
    """Yield the games in a file, from their tags and the results after their moves.

    A tag begins a new game if the game before it has moves, or has this tag already, or has White, Black and Result and
    then a blank line.
    """
    game = _Game(1)
    has_tags = False
    has_text = False
    for number, line in enumerate((line.removeprefix(BYTE_ORDER_MARK) for line in lines), start=1):
        has_text = has_text or not line.isspace()
        rest = line
        if game.comment_from or not line.lstrip().startswith("["):
            tags: list[tuple[str, str]] = []
        else:
            tags, rest = _tags(line)
        for name, value in tags:
            if game.is_before(name):
                yield from game.placed()
                game = _Game(number)
            game.tags[name] = value
        has_tags = has_tags or bool(tags)
        if not tags or rest.strip():
            game.read(number, rest)
    yield from game.placed()
    if has_text and not has_tags and all(result == "*" for result in game.results):
        yield PlacedGame(1, RecordError("no tags", 'tags as in [White "minimax"]'))


@dataclass(slots=True)
class _Game:
    """A game that is being read, line by line."""

    line: int
    """The line at which it begins."""
    tags: dict[str, str] = field(default_factory=dict)
    has_moves: bool = False
    is_ended: bool = False
    """Whether a blank line or a comment followed all required tags."""
    results: list[str] = field(default_factory=list)
    """The different results after the moves."""
    comment: str = ""
    """The last comment."""
    comment_from: int = 0
    """The line on which an unfinished comment begins; 0 without one."""
    tags_in_comment: bool = False
    """Whether the comment contains lines that look like tags."""
    variations: int = 0
    """The number of unfinished variations, one inside the other."""
    error: RecordError | None = None
    """The first error."""
    text: list[str] = field(default_factory=list)
    """The lines after the tags."""
    characters: int = 0
    """Their length; longer texts are cut."""

    def is_before(self, tag: str) -> bool:
        """Return whether this game ends before a tag of this name."""
        begins_again = tag in self.tags and (tag in _REQUIRED or (tag in _ROSTER and self._has_all_tags))
        return bool(self.tags or self.results) and (self.has_moves or self.is_ended or begins_again)

    @property
    def _has_all_tags(self) -> bool:
        return all(name in self.tags for name in _REQUIRED)

    def read(self, number: int, text: str) -> None:
        """Read a line, or the rest of a line after its tags."""
        if self.characters <= _LONGEST_MOVES:
            self.text.append(text)
            self.characters += len(text)
        if not self.comment_from:
            if text.startswith("%"):
                return
            if not text.strip():
                self.is_ended = self._has_all_tags
                return
            if not self.has_moves and (match := _BROKEN_TAG.match(text.strip())):
                self.error = self.error or RecordError(f"the tag {match.group()}", f'[{match.group(1)} "..."]')
                return
        # The search stops at the last `}`. Otherwise many `{` without an end would take quadratic time.
        end = text.rfind("}") + 1
        if not self.comment_from and ";" not in text and (whole := _COMMENT.findall(text, 0, end)):
            # There can be many short comments: remove them in one step.
            self._begin_comment()
            self.comment = whole[-1][1:-1][:_LONGEST_COMMENT]
            text = _COMMENT.sub(" ", text[:end]) + text[end:]
        at = 0
        while at < len(text):
            if self.comment_from:
                at = self._read_comment(number, text, at)
                continue
            match = _MARK.search(text, at)
            end = len(text) if match is None else match.start()
            self.has_moves = self.has_moves or not (text[at:end].isspace() or at == end)
            if match is None or match.group() == ";":
                return
            at = match.end()
            self._add(number, match.group())

    def _add(self, number: int, token: str) -> None:
        if token == "{":
            self.comment_from = number
            self.comment = ""
            self.tags_in_comment = False
            self._begin_comment()
            return
        self.has_moves = True
        if token == "(":
            self.variations += 1
        elif token == ")":
            self.variations = max(0, self.variations - 1)
        elif not self.variations:
            result = result_of(token)
            if result not in self.results:
                self.results.append(result)

    def _begin_comment(self) -> None:
        """Record that the tags have ended, unless a required tag is missing: a comment can be between tags."""
        self.is_ended = self.is_ended or self._has_all_tags

    def _read_comment(self, number: int, text: str, at: int) -> int:
        """Read a comment up to its end or the end of the line. Return the place after it."""
        end = text.find("}", at)
        inside = text[at : end if end >= 0 else len(text)]
        if number == self.comment_from:
            self.comment = inside[:_LONGEST_COMMENT]
        else:
            if self.tags_in_comment and "{" in inside:
                got = f"a comment from line {self.comment_from} with tags and another comment, on line {number}"
                self.error = self.error or RecordError(got, "a `}` at the end of the first comment")
            self.tags_in_comment = self.tags_in_comment or _BROKEN_TAG.match(inside.strip()) is not None
            self.comment = f"{self.comment} {inside}"[:_LONGEST_COMMENT]
        if end < 0:
            return len(text)
        self.comment_from = 0
        return end + 1

    def placed(self) -> Iterator[PlacedGame]:
        """Yield the game or its error; nothing if the text is not a game."""
        if not self.tags and all(result == "*" for result in self.results):
            return
        try:
            yield PlacedGame(self.line, self._game())
        except RecordError as error:
            yield PlacedGame(self.line, error)

    def _game(self) -> RecordedGame:
        if self.error is not None:
            raise self.error
        if self.comment_from:
            raise RecordError(f"a comment from line {self.comment_from} that does not end", "a `}` at its end")
        result = self._result()
        tags = self.tags
        if missing := next((name for name in _REQUIRED[:2] if name not in tags), ""):
            raise RecordError(f"no tag {missing}", "White, Black and Result")
        if empty := next((name for name in _REQUIRED[:2] if not tags[name]), ""):
            raise RecordError(f"an empty tag {empty}", "a name")
        ending = tags.get("Termination", "")
        if not ending and (match := _ENDING_COMMENT.fullmatch(one_line(self.comment))):
            ending = match.group()
        dates = (occasion("", tags.get(name, "")) for name in ("Date", "UTCDate"))
        more: dict[str, Any] = (
            occasion(tags.get("Event", "")) | next(filter(None, dates), {}) | round_of(tags.get("Round", ""))
        )
        first = "White"
        second = "Black"
        if list(tags).index("Black") < list(tags).index("White") and _C_GOMOKU_CLI_ENDING.fullmatch(ending):
            first, second, result = second, first, _SWAPPED.get(result, result)
        known_termination = termination_of(ending, result)
        details = one_line(tags.get("TerminationDetails", ""))
        if details and known_termination == str(Termination.ADJUDICATED):  # other programs say why a line won, too
            more = {**more, "adjudication": details}
        if (factor := tags.get("TimeFactor", "")) and _FACTOR.fullmatch(factor):
            more = {**more, "time_factor": float(factor)}
        record = listed_game(
            tags[first],
            tags[second],
            result,
            variant=tags.get("Variant", ""),
            termination=known_termination,
            more=more,
        )
        return self._with_moves(record) if tags.get("PlyCount", "0") != "0" else record

    def _with_moves(self, record: RecordedGame) -> RecordedGame:
        """Return the game with its moves and what bots thought of them, if the text has them as `pgn_text` does."""
        try:
            variant = variant_of(record.variant)
        except RecordError:
            return record
        moves: list[int] = []
        judgements: dict[int, re.Match[str]] = {}
        for comment, word in _TOKEN.findall("".join(self.text)):
            if comment:
                if match := _JUDGEMENT.fullmatch(comment):
                    judgements[len(moves) - 1] = match
            elif word and result_of(word) not in RESULTS:
                cell = read_cell(variant, word)
                if cell is None or cell in moves:
                    return record
                moves.append(cell)
        if self.tags["PlyCount"] != str(len(moves)) or not judgements:
            return record
        scores = {ply: _units(match["score"]) for ply, match in judgements.items() if match["score"]}
        thoughts = {ply: Thought(depth=int(match["depth"])) for ply, match in judgements.items()}
        times = {ply: round(float(match["seconds"]) * 1000, 3) for ply, match in judgements.items() if match["seconds"]}
        more = {**record.more, **score_column(scores, len(moves)), **thoughts_by_ply(thoughts)}
        times_ms = tuple(times.get(ply, 0.0) for ply in range(len(moves))) if times else ()
        return replace(record, moves=tuple(moves), times_ms=times_ms, more=more)

    def _result(self) -> str:
        """Return the result in the tag, or the result after the moves if the tag has none. Raises RecordError."""
        tag_result = result_of(self.tags.get("Result", ""))
        final_results = [result for result in self.results if result != "*"]
        if tag_result in ("", "*", "?"):
            if len(final_results) > 1:
                raise RecordError(f"the results {' and '.join(final_results)} after the moves", "one result")
            if not (tag_result or self.results):
                raise RecordError("no tag Result", "White, Black and Result")
            return final_results[0] if final_results else "*"
        if tag_result in RESULTS and final_results and final_results != [tag_result]:
            got = f"the tag Result {tag_result} and {' and '.join(final_results)} after the moves"
            raise RecordError(got, "the same result")
        return tag_result


def _tags(line: str) -> tuple[list[tuple[str, str]], str]:
    """Return the tags with which a line begins, and the rest of it."""
    tags = []
    text = line.strip()
    while tag := _TAG.match(text):
        tags.append(_tag(tag))
        text = text[tag.end() :]
    if text.startswith("[") and (tag := _TAG_WITH_QUOTES.match(text)) and not _SEVERAL_TAGS.search(tag.group(2)):
        tags.append(_tag(tag))
        text = ""
    return tags, text


def _tag(match: re.Match[str]) -> tuple[str, str]:
    name = match.group(1)
    return _KNOWN.get(name.lower(), name), re.sub(r'\\(["\\])', r"\1", match.group(2))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
