"""Organisers whose own bots play rated games against bots of others."""

import pytest

from noughts_server.competition.conflict_of_interest import can_withdraw, has_conflict


@pytest.mark.parametrize(
    "rated, has_begun, own_bots, expected",
    [
        (True, True, [True, False], True),
        (True, True, [False, False, True], True),
        (False, True, [True, False], False),
        (True, False, [True, False], False),
        (True, True, [True, True], False),
        (True, True, [False, False], False),
        (True, True, [], False),
    ],
)
def test_conflict_needs_rated_games_of_own_bots_against_others(
    rated: bool, has_begun: bool, own_bots: list[bool], expected: bool
) -> None:
    assert has_conflict(rated=rated, has_begun=has_begun, own_bots=own_bots) is expected


@pytest.mark.parametrize(
    "is_admin, owns_bot, is_organiser, has_conflict, expected",
    [
        (False, False, False, False, False),
        (False, False, True, False, True),
        (False, False, True, True, False),
        (False, True, False, True, True),
        (False, True, True, True, True),
        (True, False, False, True, True),
        (True, False, True, True, True),
    ],
)
def test_organiser_with_a_conflict_withdraws_only_own_bots(
    is_admin: bool, owns_bot: bool, is_organiser: bool, has_conflict: bool, expected: bool
) -> None:
    allowed = can_withdraw(is_admin=is_admin, owns_bot=owns_bot, is_organiser=is_organiser, has_conflict=has_conflict)
    assert allowed is expected
