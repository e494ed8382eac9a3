"""Page sizes and page tokens."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_server.core.errors import InvalidArgument
from noughts_server.store.engine.pages import Key, page_size, read_page_token, write_page_token

KEY_PARTS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20),
)


@given(st.lists(KEY_PARTS, min_size=1, max_size=3))
def test_token_gives_its_key_back(key: Key) -> None:
    assert read_page_token("bots", write_page_token("bots", key), key) == key


def test_empty_token_is_the_first_page() -> None:
    assert read_page_token("bots", "", [""]) is None


@given(st.text(min_size=1, max_size=60))
def test_any_other_text_is_an_invalid_token(token: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        read_page_token("bots", token, [""])
    assert caught.value.subject == "page_token"


@pytest.mark.parametrize(
    "method, key",
    [("tournaments", ["ada"]), ("bots", [1]), ("bots", ["ada", "bob"]), ("bots", [])],
    ids=["another list", "another type", "too long", "too short"],
)
def test_token_of_another_list_is_an_invalid_argument(method: str, key: Key) -> None:
    with pytest.raises(InvalidArgument):
        read_page_token("bots", write_page_token(method, key), [""])


def test_number_that_no_database_keeps_is_an_invalid_argument() -> None:
    with pytest.raises(InvalidArgument):
        read_page_token("games", write_page_token("games", [2**63]), [0])


@pytest.mark.parametrize("part", ["a\0", "\ud800", math.nan, math.inf])
def test_key_that_no_database_stores_is_an_invalid_argument(part: str | float) -> None:
    with pytest.raises(InvalidArgument):
        read_page_token("games", write_page_token("games", [part]), [type(part)()])


def test_token_that_is_too_long_is_an_invalid_argument() -> None:
    with pytest.raises(InvalidArgument):
        read_page_token("bots", write_page_token("bots", ["a" * 10_000]), [""])


@pytest.mark.parametrize("requested, size", [(0, 50), (1, 1), (1_000, 1_000), (1_001, 1_000), (2**31 - 1, 1_000)])
def test_page_size_is_bounded(requested: int, size: int) -> None:
    assert page_size(requested) == size


def test_negative_page_size_is_an_invalid_argument() -> None:
    with pytest.raises(InvalidArgument):
        page_size(-1)
