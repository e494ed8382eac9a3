"""What was special about a finished tournament: upset, lead changes, the decision, the longest and the shortest game.

Points count in half points, so that sums are exact.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from noughts_referee.rules import Result

_HALF_POINTS = {Result.FIRST_WINS: (2, 0), Result.DRAW: (1, 1), Result.SECOND_WINS: (0, 2)}


class PlayedGame(NamedTuple):
    """A game of a tournament. Entries are numbers."""

    number: int
    round: int
    """0 if the format has no rounds."""
    first: int
    second: int
    result: Result
    on_board: bool
    """Whether a side won it on the board."""
    moves: int

    @property
    def half_points(self) -> tuple[int, int]:
        """Return the half points of both sides; none in a void game."""
        return _HALF_POINTS.get(self.result, (0, 0))

    @property
    def winner_and_loser(self) -> tuple[int, int] | None:
        """Return the two entries; None if nobody won."""
        if self.result is Result.FIRST_WINS:
            return self.first, self.second
        return (self.second, self.first) if self.result is Result.SECOND_WINS else None


class Bye(NamedTuple):
    """A round in which an entry had no opponent."""

    round: int
    entry: int


class Upset(NamedTuple):
    """A game, and its two entries."""

    game: int
    winner: int
    loser: int


class Moment(NamedTuple):
    """A game and its round; the round is 0 if the format has none."""

    game: int
    round: int


class Story(NamedTuple):
    """The story of a tournament. Parts are None if there is no such game."""

    upset: Upset | None = None
    lead_changes: int = 0
    lead: Moment | None = None
    """When the winner took the lead for good."""
    decision: Moment | None = None
    longest: PlayedGame | None = None
    shortest: PlayedGame | None = None


def story_of(
    games: Sequence[PlayedGame],
    places: Mapping[int, int],
    winners: Sequence[int],
    *,
    byes: Iterable[Bye] = (),
    bye_points: int = 0,
    is_bracket: bool = False,
) -> Story:
    """Return the story of a finished tournament.

    Args:
        games: all games, in the order of their numbers.
        places: the place of each entry, from 1, by which an upset is measured.
        winners: the entries with the first rank.
        byes: the rounds of entries without an opponent.
        bye_points: the points for a bye.
        is_bracket: whether the winner of the last game wins the tournament, whatever the points.
    """
    upset = _upset(games, places)
    longest = max(games, key=lambda game: game.moves, default=None)
    shortest = min((game for game in games if game.on_board), key=lambda game: game.moves, default=None)
    story = Story(upset=upset, longest=longest, shortest=shortest)
    if is_bracket:
        return story._replace(decision=_last_of_final(games, winners))
    course = _Course(games, byes, 2 * bye_points)
    changes, lead = course.leads(winners)
    return story._replace(lead_changes=changes, lead=lead, decision=course.decision(winners))


def _upset(games: Iterable[PlayedGame], places: Mapping[int, int]) -> Upset | None:
    """Return the first game won on the board with the largest difference of places, if it is two or more."""
    best: Upset | None = None
    largest = 1
    for game in games:
        if game.on_board and (pair := game.winner_and_loser) is not None:
            difference = places[pair[0]] - places[pair[1]]
            if difference > largest:
                best, largest = Upset(game.number, *pair), difference
    return best


def _last_of_final(games: Sequence[PlayedGame], winners: Sequence[int]) -> Moment | None:
    """Return the last game of the last round, if possible one that the winner won."""
    final = [game for game in games if game.round == games[-1].round]
    won = [game for game in final if game.winner_and_loser and game.winner_and_loser[0] in winners]
    last = (won or final)[-1:]
    return Moment(last[0].number, last[0].round) if last else None


class _Course:
    """How the points of a tournament changed. Byes count before the games of their round."""

    def __init__(self, games: Sequence[PlayedGame], byes: Iterable[Bye], bye_points: int) -> None:
        self._games = games
        self._bye_points = bye_points
        self._byes: defaultdict[int, list[int]] = defaultdict(list)
        for bye in byes:
            self._byes[bye.round].append(bye.entry)

    def leads(self, winners: Sequence[int]) -> tuple[int, Moment | None]:
        """Return the number of lead changes, and when the only winner took the lead for good."""
        points: Counter[int] = Counter()
        best, leaders = 0, set[int]()
        last_leader: int | None = None
        changes = 0
        taken: Moment | None = None
        for number, group in groupby(self._games, key=lambda game: game.round or -game.number):
            games = list(group)
            gained: Counter[int] = Counter(dict.fromkeys(self._byes.get(number, ()), self._bye_points))
            for game in games:
                first, second = game.half_points
                gained[game.first] += first
                gained[game.second] += second
            won = [game for game in games if game.winner_and_loser and game.winner_and_loser[0] in winners]
            last = (won or games)[-1]
            for entry, value in gained.items():
                points[entry] += value
                if points[entry] > best:
                    best, leaders = points[entry], {entry}
                elif value and points[entry] == best:
                    leaders.add(entry)
            if len(leaders) == 1:
                (leader,) = leaders
                changes += last_leader not in (None, leader)
                last_leader = leader
            is_first = len(winners) == 1 and winners[0] in leaders
            taken = (taken or Moment(last.number, last.round)) if is_first else None
        return changes, taken

    def decision(self, winners: Sequence[int]) -> Moment | None:
        """Return the game after which no other entry could reach the points of the winner; None if there is none.

        It goes back from the end. What an entry could still reach only grows on this way, and the winner's points only
        fall, so the first game before which another entry could reach them is the one.
        """
        if len(winners) != 1:
            return None
        (winner,) = winners
        points: Counter[int] = Counter()
        for game in self._games:
            first, second = game.half_points
            points[game.first] += first
            points[game.second] += second
        for entries in self._byes.values():
            for entry in entries:
                points[entry] += self._bye_points
        reachable = max((value for entry, value in points.items() if entry != winner), default=0)
        own = points[winner]
        if reachable >= own:
            return None
        possible = points.copy()
        for place in range(len(self._games) - 1, -1, -1):
            game = self._games[place]
            for entry, value in zip((game.first, game.second), game.half_points, strict=True):
                if entry == winner:
                    own -= value
                else:
                    possible[entry] += 2 - value
                    reachable = max(reachable, possible[entry])
            is_first_of_round = not place or self._games[place - 1].round != game.round
            if is_first_of_round and winner in self._byes.get(game.round, ()):
                own -= self._bye_points
            if reachable >= own:
                return Moment(game.number, game.round)
        return None
