"""The stored form of moves and times."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_referee.work_units import pack_moves, pack_times, unpack_moves, unpack_times
from tests.support.settings import examples


@pytest.mark.parametrize("cells, bytes_each", [(1, 1), (9, 1), (225, 1), (256, 1), (257, 2), (900, 2)])
@examples(50)
@given(data=st.data())
def test_moves_are_read_back_on_boards_of_every_size(cells: int, bytes_each: int, data: st.DataObject) -> None:
    moves = data.draw(st.lists(st.integers(0, cells - 1), unique=True))
    packed = pack_moves(moves, cells)
    assert len(packed) == bytes_each * len(moves)
    assert unpack_moves(packed, cells) == moves


def test_the_bytes_are_the_same_on_every_machine() -> None:
    assert pack_moves([0, 8, 4], 9) == b"\x00\x08\x04"
    assert pack_moves([0, 899], 900) == b"\x00\x00\x83\x03"
    assert pack_times([1, 0x01020304]) == b"\x01\x00\x00\x00\x04\x03\x02\x01"


@examples(100)
@given(st.lists(st.integers(0, 2**32 - 1)))
def test_times_are_read_back(times: list[int]) -> None:
    assert unpack_times(pack_times(times)) == times


def test_a_time_too_long_to_store_is_cut_and_changes_no_other() -> None:
    assert unpack_times(pack_times([5, 2**32, 7, 2**62])) == [5, 2**32 - 1, 7, 2**32 - 1]


def test_a_game_without_moves_is_stored_too() -> None:
    assert unpack_moves(pack_moves([], 900), 900) == []
    assert unpack_times(pack_times([])) == []
