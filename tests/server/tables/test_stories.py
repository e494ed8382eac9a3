"""Stories of tournaments, compared with points counted again after each game."""

import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, permutations

from noughts_referee.rules import Result
from noughts_server.tables.stories import Bye, Moment, PlayedGame, Story, Upset, story_of

FIRST, DRAW, SECOND = Result.FIRST_WINS, Result.DRAW, Result.SECOND_WINS
POINTS = {FIRST: (2, 0), DRAW: (1, 1), SECOND: (0, 2), Result.VOID: (0, 0)}


def played(*games: tuple[int, int, Result], rounds: Sequence[int] = ()) -> list[PlayedGame]:
    return [
        PlayedGame(number, rounds[number - 1] if rounds else 0, *game, on_board=game[2] is not DRAW, moves=10 + number)
        for number, game in enumerate(games, 1)
    ]


def points_after(games: Sequence[PlayedGame]) -> Counter[int]:
    points: Counter[int] = Counter()
    for game in games:
        for entry, value in zip((game.first, game.second), POINTS[game.result], strict=True):
            points[entry] += value
    return points


def story_of_points(games: Sequence[PlayedGame], entries: int) -> Story:
    """The story, with entries that rank by points only."""
    points = points_after(games)
    ranks = {entry: 1 + sum(points[other] > points[entry] for other in range(entries)) for entry in range(entries)}
    return story_of(games, ranks, [entry for entry, rank in ranks.items() if rank == 1])


def test_upset_is_the_largest_difference_of_places() -> None:
    games = played((0, 1, FIRST), (2, 1, FIRST), (2, 0, FIRST), (0, 2, FIRST), (0, 1, FIRST), (1, 2, FIRST))
    story = story_of(games, {0: 3, 1: 1, 2: 2}, [1])
    assert story.upset == Upset(game=1, winner=0, loser=1)
    assert story_of(games[1:4], {0: 3, 1: 1, 2: 2}, [1]).upset is None
    assert story_of(games[:1], {0: 2, 1: 1}, [1]).upset is None


def test_a_win_through_a_fault_is_no_upset() -> None:
    fault, smaller_upset = played((3, 0, FIRST), (2, 0, FIRST))
    games = [fault._replace(on_board=False), smaller_upset]
    assert story_of(games, {0: 1, 1: 2, 2: 3, 3: 4}, [0]).upset == Upset(game=2, winner=2, loser=0)


def test_longest_and_shortest_games_count_moves() -> None:
    games = played((0, 1, DRAW), (0, 1, FIRST), (0, 1, SECOND))
    story = story_of(games, {0: 1, 1: 1}, [0, 1])
    assert story.longest == games[2]
    assert story.shortest == games[1]


def test_lead_changes_count_after_rounds_and_byes_count_first() -> None:
    games = played((0, 1, FIRST), (2, 0, FIRST), (1, 0, FIRST), rounds=(1, 2, 3))
    byes = [Bye(1, 2), Bye(2, 1), Bye(3, 2)]
    story = story_of(games, {0: 3, 1: 2, 2: 1}, [2], byes=byes, bye_points=1)
    # 0 and 2 share the lead after round 1. Until its bye in round 3, 1 could reach the points of 2.
    assert (story.lead_changes, story.lead) == (0, Moment(1, 1))
    assert story.decision == Moment(3, 3)


def test_knockout_is_decided_by_its_last_game() -> None:
    games = played((0, 3, FIRST), (1, 2, FIRST), (0, 1, SECOND), (1, 0, FIRST), rounds=(1, 1, 2, 2))
    story = story_of(games, {entry: entry + 1 for entry in range(4)}, [1], is_bracket=True)
    assert (story.decision, story.lead, story.lead_changes) == (Moment(4, 2), None, 0)


def test_winner_by_a_tie_break_is_decided_by_no_game() -> None:
    games = played((0, 1, FIRST), (1, 0, FIRST))
    assert story_of(games, {0: 1, 1: 2}, [0]).decision is None


def test_decision_and_lead_agree_with_points_counted_after_each_game() -> None:
    numbers = random.Random(5)
    decided = 0
    for _ in range(300):
        entries = numbers.randint(2, 5)
        pairs = [pair for pair in permutations(range(entries), 2) for _ in range(numbers.randint(1, 3))]
        numbers.shuffle(pairs)
        games = played(*((*pair, numbers.choice([*POINTS])) for pair in pairs))
        story = story_of_points(games, entries)
        points = points_after(games)
        winners = [entry for entry in range(entries) if points[entry] == max(points.values())]
        leaders = []
        first_decided = None
        for count in range(len(games) + 1):
            so_far, left = points_after(games[:count]), Counter[int]()
            for game in games[count:]:
                left.update((game.first, game.second))
            best = max(so_far.values(), default=0)
            leaders.append([entry for entry in range(entries) if best and so_far[entry] == best])
            others = (so_far[entry] + 2 * left[entry] for entry in range(entries) if entry != winners[0])
            if len(winners) == 1 and first_decided is None and max(others) < so_far[winners[0]]:
                first_decided = count
        assert story.decision == (Moment(first_decided, 0) if first_decided else None)
        decided += first_decided is not None
        only = [each[0] for each in leaders if len(each) == 1]
        assert story.lead_changes == sum(one != other for one, other in pairwise(only))
        if len(winners) == 1:
            since = next(
                count for count in range(len(games) + 1) if all(winners[0] in each for each in leaders[count:])
            )
            assert story.lead == Moment(since, 0)
    assert decided > 100
