"""Danish tournaments: neighbours in the standings meet."""

from collections import Counter
from dataclasses import replace
from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from noughts_server.competition.formats import DANISH
from noughts_server.competition.formats.rounds_by_points import final_order
from noughts_server.competition.pairing_batch import Field, PlayedPairing
from tests.support.waves import Chance, waves_of

FIELDS = st.builds(Field, st.integers(2, 12), rounds=st.integers(1, 20), seed=st.integers(0, 2**64 - 1))


@given(FIELDS, st.sampled_from([0.0, 0.2, 1.0]))
def test_every_round_pairs_neighbours_and_byes_take_turns(begin: Field, draws: float) -> None:
    *waves, (end, last) = waves_of(DANISH.next_wave, begin, Chance(begin.seed, draws))
    assert last is None
    assert [wave.round for _, wave in waves if wave] == list(range(1, begin.rounds + 1))
    for field, wave in waves:
        assert wave is not None
        assert sorted(chain(*wave.pairings, wave.byes)) == list(range(begin.entries))
        order = [entry for entry in final_order(field) if entry not in wave.byes]
        assert [{*pair} for pair in zip(order[::2], order[1::2], strict=True)] == [
            {*pairing} for pairing in wave.pairings
        ]
    byes = Counter(entry for _, entry in end.byes)
    assert not byes or max(byes.values()) - min(byes[entry] for entry in range(begin.entries)) <= 1


def test_entries_meet_again_if_they_stay_neighbours() -> None:
    field = Field(2, played=(PlayedPairing(1, 0, 1, 1.0, 1.0, 2),), rounds=2)
    wave = DANISH.next_wave(field)
    assert wave is not None
    # Entry 0 moved first in the first pairing.
    assert (wave.round, wave.pairings) == (2, ((1, 0),))


@given(FIELDS)
def test_withdrawn_entries_are_not_paired(begin: Field) -> None:
    wave = DANISH.next_wave(replace(begin, withdrawn={0: 1}))
    assert wave is None if begin.entries < 3 else 0 not in chain(*wave.pairings, wave.byes)  # type: ignore[union-attr]
