"""Check the settings of a new invitation. The store does not check them."""

from collections.abc import Iterable

from noughts_server.core.errors import InvalidArgument
from noughts_server.core.registration import MOST_USES
from noughts_server.services.new_tokens import LONGEST_LABEL, LONGEST_LIFETIME_MS
from noughts_server.store.people.newcomers import OPEN_SCOPES
from noughts_server.store.people.scopes import PLAY, SUBMIT
from noughts_server.store.validation import check_number, check_text


def check_invitation(label: str, uses: int, lifetime_ms: int | None) -> None:
    """Raise InvalidArgument for a label, a number of uses or a lifetime that an invitation cannot have."""
    check_text("invitation.label", label, LONGEST_LABEL)
    check_number("invitation.uses", uses, 1, MOST_USES)
    if lifetime_ms is not None:
        check_number("ttl (milliseconds)", lifetime_ms, 1, LONGEST_LIFETIME_MS)


def check_invited_scopes(scopes: Iterable[str]) -> tuple[str, ...]:
    """Return the scopes in order without duplicates; the default if there are none. Raises InvalidArgument.

    Newcomers never get the scopes to organise tournaments, to run a website or to administer the server.
    """
    chosen_scopes = tuple(dict.fromkeys(scopes)) or OPEN_SCOPES
    for scope in chosen_scopes:
        if scope not in (PLAY, SUBMIT):
            raise InvalidArgument.of("invitation.scopes", scope, "`play` or `submit`")
    return chosen_scopes
