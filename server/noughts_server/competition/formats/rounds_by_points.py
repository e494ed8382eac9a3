"""Common code of the Swiss and Danish formats, which play a number of rounds for points."""

from collections.abc import Sequence

from noughts_referee.rules.chance import game_seed
from noughts_server.competition.forecast import Forecast, Wave
from noughts_server.competition.formats.tournament_format import FormatSettings, InRounds, LateEntries
from noughts_server.competition.pairing_batch import Field, Pairing


def usual_rounds(entries: int) -> int:
    """Return the number of rounds after which at most one entry can have won all games: log2, rounded up."""
    return max(1, (entries - 1).bit_length())


def rounds_done(field: Field) -> int:
    """Return the number of the last round that was paired; 0 before the first."""
    return max([pairing.round for pairing in field.played] + [number for number, _ in field.byes], default=0)


def points_of(field: Field) -> list[float]:
    """Return the points of every entry, including byes."""
    points = [0.0] * field.entries
    for pairing in field.played:
        points[pairing.first] += pairing.first_points
        points[pairing.second] += pairing.second_points
    for _, entry in field.byes:
        points[entry] += field.games
    return points


def buchholz(field: Field) -> list[float]:
    """Return the sum of the points of each entry's opponents; a bye counts as an opponent with the same points."""
    points = points_of(field)
    sums = [0.0] * field.entries
    for pairing in field.played:
        sums[pairing.first] += points[pairing.second]
        sums[pairing.second] += points[pairing.first]
    for _, entry in field.byes:
        sums[entry] += points[entry]
    return sums


def final_order(field: Field) -> list[int]:
    """Return the entries by points, then Buchholz, then seed, best first."""
    points = points_of(field)
    sums = buchholz(field)
    return sorted(range(field.entries), key=lambda entry: (-points[entry], -sums[entry], entry))


def assign_sides(pairs: Sequence[tuple[int, int]], field: Field, number: int) -> tuple[Pairing, ...]:
    """Return the pairings of these pairs of entries in round `number`: the entry that has begun fewer pairings begins.

    In pairs with equal numbers, the better and the other entry begin in turn, starting at random.
    """
    balance = [0] * field.entries
    for pairing in field.played:
        balance[pairing.first] += 1
        balance[pairing.second] -= 1
    other_begins = game_seed(field.seed, number) % 2 == 1
    pairings = []
    for better, other in pairs:
        is_swapped = balance[better] > balance[other]
        if balance[better] == balance[other]:
            is_swapped = other_begins
            other_begins = not other_begins
        pairings.append(Pairing(other, better) if is_swapped else Pairing(better, other))
    return tuple(pairings)


class RoundsByPoints(InRounds):
    """A number of rounds in which all entries play; the entry with the most points wins."""

    own_settings = frozenset({"rounds"})
    late_entries = LateEntries.ALWAYS
    extended_setting = "rounds"
    by_points = True

    def check_extension(self, entries: int, settings: FormatSettings, rounds: int) -> int:
        return (settings.rounds or usual_rounds(entries)) + rounds

    def forecast(self, settings: FormatSettings, entries: int) -> Forecast:
        rounds = settings.rounds or usual_rounds(entries)
        pairs = entries // 2
        games = pairs * settings.games_per_pair
        return Forecast(
            entries=entries,
            rounds=rounds,
            least=rounds * games,
            most=rounds * games,
            waves=(Wave(games, pairs),) * rounds,
        )
