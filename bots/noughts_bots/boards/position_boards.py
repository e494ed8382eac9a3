"""The boards of running games as one `Position` each, for bots with `choose` or `choose_batch`."""

from collections.abc import Sequence

from noughts_bots.boards.interface import Answers, Choice, Questions, ReportResignation, read_choice, thought_of
from noughts_bots.sdk.bot import Bot, Resign, read_batch
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.rules import OFF_BOARD, Position, Thought, Variant


class PositionBoards:
    """See `Boards`."""

    def __init__(self, bot: Bot) -> None:
        self._bot = bot
        self._positions: dict[int, Position] = {}
        """Running games: `own` are the bot's stones. The bot's last answer is at the end of `moves`, but is not among
        the stones until its next turn, when `read_questions` adds it with the opponent's move."""
        self._variants: set[Variant] = set()
        """The variants of all games so far. Frames are sorted by variant only if there are several."""
        self._move_limits: dict[int, int] = {}
        """Limits of a move in microseconds, for running games that also have a base time."""

    def start(self, variant: Variant, starts: pb.Starts) -> None:
        limits = starts.time
        if limits.bank_us and limits.move_us:
            self._move_limits.update(dict.fromkeys(starts.game, limits.move_us))
        self._variants.add(variant)
        positions = self._positions
        moves = starts.moves[:]
        moves_read = 0
        for handle, side, seed, count in zip(
            starts.game[:], starts.side[:], starts.seed[:], starts.move_count[:], strict=True
        ):
            if count:
                positions[handle] = _seen_by(side - 1, variant, moves[moves_read : moves_read + count], seed)
                moves_read += count
            else:
                positions[handle] = Position(variant, side=side - 1, seed=seed)
        if starts.fuel:
            for handle in starts.game:
                positions[handle].fuel = starts.fuel

    def read_questions(self, turns: pb.Turns) -> Questions:
        # Slicing a repeated field once is cheaper than reading its elements one by one.
        questions = self._questions_of(turns.game[:], turns.ply[:], turns.cell[:])
        if turns.own_clock_us:
            self._set_clocks(turns)
        return questions

    def _questions_of(self, games: list[int], plies: list[int], cells: list[int]) -> Questions:
        known = self._positions
        try:
            positions = [known[handle] for handle in games]
        except KeyError:
            rows = [row for row in zip(games, plies, cells, strict=True) if row[0] in known]
            return self._questions_of(
                games=[game for game, _, _ in rows],
                plies=[ply for _, ply, _ in rows],
                cells=[cell for _, _, cell in rows],
            )
        for row, (position, ply, cell) in enumerate(zip(positions, plies, cells, strict=True)):
            moves = position.moves
            count = len(moves)
            if count == ply - 1:
                if count:
                    position.own |= 1 << moves[-1]
                position.opponent |= 1 << cell
                moves.append(cell)
            elif count != ply:
                # The question is repeated, so the moves after it do not count.
                earlier = _seen_by(position.side, position.variant, moves[:ply], position.seed)
                earlier.fuel = position.fuel
                positions[row] = known[games[row]] = earlier
        return Questions(games, plies, positions)

    def _set_clocks(self, turns: pb.Turns) -> None:
        known, move_limits = self._positions, self._move_limits
        for handle, own, opponent in zip(turns.game, turns.own_clock_us, turns.opponent_clock_us, strict=True):
            position = known.get(handle)
            if position is not None:
                position.own_clock_us, position.opponent_clock_us = own, opponent
                position.limit_us = min(own, move_limits.get(handle, own))

    def by_variant(self, questions: Questions) -> list[Questions]:
        if len(self._variants) < 2:
            return [questions]
        rows: dict[Variant, list[tuple[int, int, Position]]] = {}
        for game, ply, position in questions:
            rows.setdefault(position.variant, []).append((game, ply, position))
        return [
            Questions(
                games=[game for game, _, _ in part],
                plies=[ply for _, ply, _ in part],
                positions=[position for _, _, position in part],
            )
            for part in rows.values()
        ]

    def answers(self, questions: Questions, report_resignation: ReportResignation) -> Answers:
        positions: tuple[Position, ...] = tuple(questions.positions)
        choices: list[Choice] = read_batch(self._bot.choose_batch(positions), len(positions))
        variant = positions[0].variant
        cells = variant.cells
        scores: dict[int, float] = {}
        thoughts: dict[int, Thought] = {}
        for row, (position, answer) in enumerate(zip(positions, choices, strict=True)):
            if type(answer) is int and 0 <= answer < cells:
                position.moves.append(answer)
                continue
            try:
                if isinstance(answer, Resign):
                    raise answer
                cell, score = read_choice(answer, variant)
                thought = thought_of(answer)
                choices[row] = cell
            except Exception as failure:
                choices[row] = report_resignation(row, failure)
                continue
            if cell != OFF_BOARD:
                position.moves.append(cell)
            if score is not None:
                scores[row] = score
            if thought is not None:
                thoughts[row] = thought
        return Answers(questions.games, questions.plies, choices, scores, thoughts=thoughts)

    def variant(self, game: int) -> Variant | None:
        position = self._positions.get(game)
        return None if position is None else position.variant

    def moves(self, game: int) -> list[int]:
        return self._positions[game].moves

    def forget(self, games: Sequence[int]) -> None:
        for handle in games:
            self._positions.pop(handle, None)
        if self._move_limits:
            for handle in games:
                self._move_limits.pop(handle, None)


def _seen_by(side: int, variant: Variant, moves: list[int], seed: int) -> Position:
    """Return the position after the moves, with the stones of `side` as its own, even if the other side moves."""
    position = Position(variant, side=side, seed=seed)
    position.moves = moves
    position.own = sum(1 << cell for cell in moves[side::2])
    position.opponent = sum(1 << cell for cell in moves[1 - side :: 2])
    return position
