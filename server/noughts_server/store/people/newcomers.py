"""Newcomers: owners who register themselves, with a name that cannot be mistaken for another."""

import re

from sqlalchemy import Connection, select, update

from noughts_server.core.errors import InvalidArgument, PermissionDenied
from noughts_server.core.limits import Limits
from noughts_server.store.engine.schema import bot_names, owners
from noughts_server.store.people.bots import check_prefix, reserve_name
from noughts_server.store.people.confusable_names import look_alike, looks_like_reference, skeleton
from noughts_server.store.people.invitations import Invitation, use_invitation
from noughts_server.store.people.proofs import SolvedChallenge, use_challenge
from noughts_server.store.people.scopes import PLAY, SUBMIT
from noughts_server.store.people.tokens import HOUSE_OWNER, SITE_OWNER, NewToken, create_owner, create_token

OPEN_SCOPES = (PLAY, SUBMIT)
"""The scopes of the tokens of those who register without an invitation."""
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9]|[-_.](?=[A-Za-z0-9])){1,31}")
_EXPECTED = "2 to 32 characters from a-z, A-Z and 0-9, with single `-`, `_` or `.` between them"
_RESERVED = ("admin", "administrator", "moderator", "noughts", "official", "operator", "organiser", "root", "server")
_RESERVED_SKELETONS = {skeleton(name) for name in (*_RESERVED, SITE_OWNER, HOUSE_OWNER)}
_NOBODY = 0
"""The key of no owner."""


def check_new_name(connection: Connection, name: str) -> None:
    """Raise InvalidArgument unless a newcomer can have this name.

    It must look like no name of an owner, a bot or a reference bot, past or present, and like no reserved name.
    """
    if not _NAME.fullmatch(name):
        raise InvalidArgument.of("name", name, _EXPECTED)
    first_word = re.split(r"[-_.]", name)[0]
    if not _RESERVED_SKELETONS.isdisjoint((skeleton(name), skeleton(first_word))):
        raise InvalidArgument.of("name", name, "a name that is not reserved")
    try:
        check_prefix(connection, name, _NOBODY)
    except PermissionDenied as error:
        raise InvalidArgument.of("name", name, "a name that is not reserved for another owner") from error
    owner_names = connection.scalars(select(owners.c.name).where(owners.c.skeleton == skeleton(name))).all()
    names_of_bots = connection.scalars(select(bot_names.c.name).where(bot_names.c.skeleton == skeleton(name))).all()
    similar_names = (other for other in (*owner_names, *names_of_bots) if look_alike(other, name))
    other = next(similar_names, "") or looks_like_reference(name)
    if other:
        expected = "a name that is not taken" if other == name else f"a name that does not look like {other}"
        raise InvalidArgument.of("name", name, expected, hint="Choose another name.")


def register(
    connection: Connection,
    name: str,
    *,
    invitation: str = "",
    solved: SolvedChallenge | None = None,
    now_ms: int,
    limits: Limits,
) -> tuple[NewToken, Invitation | None]:
    """Register a new owner, reserve the name for a bot of theirs, and return their token and their invitation.

    Without an invitation, the caller has checked that registration is open, and the solution of a challenge. The
    transaction counts the use of an invitation or a challenge, so that a name that is refused uses nothing up. Raises
    InvalidArgument, InvitationRefused.
    """
    if solved is not None:
        use_challenge(connection, solved, now_ms=now_ms)
    used = use_invitation(connection, invitation, now_ms=now_ms) if invitation else None
    check_new_name(connection, name)
    owner_id = create_owner(connection, name)
    if used is not None:
        connection.execute(
            update(owners)
            .where(owners.c.id == owner_id)
            .values(invitation_id=used.id, first_tournament=used.tournament or None)
        )
    reserve_name(connection, name, owner_id)
    token = create_token(
        connection,
        owner=name,
        label="registration" if used is None else f"invitation {used.id}",
        scopes=OPEN_SCOPES if used is None else used.scopes,
        now_ms=now_ms,
        limits=limits,
    )
    return token, used
