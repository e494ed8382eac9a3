"""Newcomers register with invitations or a proof of work; guesses, replays and names of others are refused."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import grpc
import pytest

from noughts_proto.transport import GUEST_KEY, SITE_KEY
from noughts_proto.v1 import games_pb2
from noughts_proto.v1 import registration_pb2 as pb
from noughts_proto.v1 import tokens_pb2 as tokens
from noughts_proto.v1 import tournaments_pb2 as tournaments
from noughts_server.core.limits import Limits
from noughts_server.core.proof_of_work import leading_zero_bits, solve
from noughts_server.core.registration import Registration
from tests.support.client import Client, bearer, client_of, hello, refusal_of
from tests.support.patience import PATIENCE

BITS = 8


@pytest.fixture
async def inviting(tmp_path: Path) -> AsyncIterator[Client]:
    """A client of a server at which newcomers can register with an invitation."""
    async with client_of(tmp_path / "x.sqlite", registration=Registration.INVITATION) as client:
        yield client


@pytest.fixture
async def open_to_all(tmp_path: Path) -> AsyncIterator[Client]:
    """A client of a server at which anyone can register, with little work."""
    limits = Limits(proof_bits=BITS, registrations=4, all_registrations=6)
    async with client_of(tmp_path / "x.sqlite", registration=Registration.OPEN, limits=limits) as client:
        yield client


async def invite(client: Client, ttl_ms: int = 0, **fields: object) -> pb.CreateInvitationResponse:
    """Create an invitation as the operator does."""
    request = pb.CreateInvitationRequest(invitation=pb.Invitation(**fields))  # type: ignore[arg-type]
    if ttl_ms:
        request.ttl.FromMilliseconds(ttl_ms)
    admin = await client.token("root", "admin")
    return await client.registration.CreateInvitation(request, metadata=bearer(admin))


async def register(client: Client, name: str, invitation: str) -> pb.RegisterResponse:
    return await client.registration.Register(pb.RegisterRequest(name=name, invitation=invitation))


async def invitation_of(client: Client, number: int) -> pb.Invitation:
    admin = await client.token("root", "admin")
    answer = await client.registration.ListInvitations(pb.ListInvitationsRequest(), metadata=bearer(admin))
    return next(row for row in answer.invitations if row.name == f"invitations/{number}")


async def solved(client: Client) -> pb.ProofOfWork:
    """Get a challenge, and solve it as the documentation shows."""
    answer = await client.registration.GetRegistration(pb.GetRegistrationRequest())
    assert answer.bits == BITS
    return pb.ProofOfWork(challenge=answer.challenge, solution=solve(answer.challenge, answer.bits))


async def test_newcomer_gets_a_token_with_the_scopes_of_the_invitation(inviting: Client) -> None:
    created = await invite(inviting, scopes=["play"], label="club evening")
    assert created.secret.startswith("inv_")
    answer = await register(inviting, "ada", created.secret)
    assert (answer.token.owner, list(answer.token.scopes)) == ("ada", ["play"])
    request = tokens.GetTokenRequest(name="tokens/self")
    own = await inviting.tokens.GetToken(request, metadata=bearer(answer.secret))
    assert own.token.name == answer.token.name
    row = await invitation_of(inviting, 1)
    assert (row.label, row.uses, row.used, list(row.owners)) == ("club evening", 1, 1, ["ada"])
    assert created.secret not in str(row)


async def test_database_and_log_never_have_the_secret(inviting: Client, capfd: pytest.CaptureFixture[str]) -> None:
    created = await invite(inviting)
    answer = await register(inviting, "ada", created.secret)
    await inviting.server.store.read(lambda connection: connection.exec_driver_sql("SELECT 1"))
    files = b"".join(path.read_bytes() for path in inviting.database.parent.iterdir() if path.is_file())
    output = "".join(capfd.readouterr())
    for secret in (created.secret, answer.secret):
        assert secret.encode() not in files
        assert secret not in output


async def test_invitation_is_used_exactly_as_often_as_it_permits(inviting: Client) -> None:
    created = await invite(inviting, uses=5)
    names = [f"bot{chr(ord('a') + number)}x" for number in range(20)]
    answers = await asyncio.gather(
        *(register(inviting, name, created.secret) for name in names), return_exceptions=True
    )
    successes = [answer for answer in answers if isinstance(answer, pb.RegisterResponse)]
    refusals = [answer for answer in answers if isinstance(answer, grpc.aio.AioRpcError)]
    assert (len(successes), len(refusals)) == (5, 15)
    assert {refusal.details() for refusal in refusals} == {"the invitation is used up"}
    row = await invitation_of(inviting, 1)
    assert (row.used, len(row.owners)) == (5, 5)


async def test_a_refused_name_uses_no_invitation_up(inviting: Client) -> None:
    created = await invite(inviting)
    assert (await refusal_of(register(inviting, "no name", created.secret))).fields() == ["name"]
    assert (await invitation_of(inviting, 1)).used == 0
    await register(inviting, "ada", created.secret)


async def test_expired_revoked_and_unknown_invitations_are_refused(inviting: Client) -> None:
    expired = await invite(inviting, ttl_ms=1)
    revoked = await invite(inviting)
    request = pb.RevokeInvitationRequest(name=revoked.invitation.name)
    for _ in range(2):
        admin = await inviting.token("root", "admin")
        answer = await inviting.registration.RevokeInvitation(request, metadata=bearer(admin))
        assert answer.invitation.HasField("revoke_time")
    other = await invite(inviting)
    wrong = other.secret[:-1] + ("A" if other.secret[-1] != "A" else "B")
    expected = {expired.secret: "expired", revoked.secret: "revoked", wrong: "unknown", "inv_": "unknown"}
    for secret, word in expected.items():
        refusal = await refusal_of(register(inviting, "ada", secret))
        assert (refusal.reason, refusal.status.message) == ("INVITATION_REFUSED", f"the invitation is {word}")
        assert secret == "inv_" or secret not in refusal.trailing


async def test_revoking_the_operators_token_revokes_its_invitations(inviting: Client) -> None:
    admin = await inviting.token("root", "admin")
    create = pb.CreateInvitationRequest()
    created = await inviting.registration.CreateInvitation(create, metadata=bearer(admin))
    await inviting.tokens.RevokeToken(tokens.RevokeTokenRequest(name="tokens/self"), metadata=bearer(admin))
    refusal = await refusal_of(register(inviting, "ada", created.secret))
    assert refusal.status.message == "the invitation is revoked"


async def test_invitations_give_no_rights_of_operators_or_organisers(inviting: Client) -> None:
    for scope in ("admin", "site", "organise", "play:ada", ""):
        assert (await refusal_of(invite(inviting, scopes=[scope]))).fields() == ["invitation.scopes"]
    assert (await refusal_of(invite(inviting, uses=10_001))).fields() == ["invitation.uses"]
    assert (await refusal_of(invite(inviting, tournament="tournaments/none"))).code is grpc.StatusCode.NOT_FOUND


async def test_a_thousand_guesses_find_no_invitation_and_games_run_on(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite", registration=Registration.INVITATION) as client:
        created = await invite(client, uses=1_000)
        token = await client.token("alice")
        await client.register("one", "two")
        await client.create(token, games_per_pair=200)
        for bot in ("one", "two"):
            await client.join(token, bot)
        async with client.online(token, "one", "two"):
            await client.start(token)
            selector = created.secret[:16]
            reasons = []
            for _ in range(1_000):
                # The guesser even knows the part of the secret that is no secret.
                refusal = await refusal_of(register(client, "eve", selector + secrets.token_urlsafe(24)))
                reasons.append(refusal.reason)
            done = await client.until(lambda cup: cup.state == tournaments.TOURNAMENT_STATE_FINISHED)
        limit = Limits().registration_attempts
        assert reasons.count("INVITATION_REFUSED") in (limit, limit + 1, limit + 2)
        assert reasons.count("LIMIT_REACHED") == 1_000 - reasons.count("INVITATION_REFUSED")
        assert done.games_done == 200
        assert (await invitation_of(client, 1)).used == 0
        # Those who know a part of the secret have used up their attempts, even for the right one.
        assert (await refusal_of(register(client, "eve", created.secret))).reason == "LIMIT_REACHED"


async def test_wrong_links_lock_no_right_ones_out_at_their_address(tmp_path: Path) -> None:
    limits = Limits(registration_attempts=5)
    async with client_of(tmp_path / "x.sqlite", registration=Registration.INVITATION, limits=limits) as client:
        created, other = await invite(client, uses=9), await invite(client, uses=9)
        reasons = [
            (await refusal_of(register(client, "eve", f"inv_{secrets.token_urlsafe(33)}"))).reason for _ in range(9)
        ]
        assert reasons == ["INVITATION_REFUSED"] * 5 + ["LIMIT_REACHED"] * 4
        # Registrations do not count as attempts. Refused ones do, for each invitation by itself.
        for number in range(9):
            await register(client, f"bot{number}x", created.secret)
        refusals = [await refusal_of(register(client, "ada", created.secret)) for _ in range(6)]
        assert [refusal.reason for refusal in refusals] == ["INVITATION_REFUSED"] * 5 + ["LIMIT_REACHED"]
        assert (await register(client, "ada", other.secret)).token.owner == "ada"


async def test_visitors_of_a_website_have_limits_of_their_own(tmp_path: Path) -> None:
    limits = Limits(registration_attempts=1)
    async with client_of(tmp_path / "x.sqlite", registration=Registration.INVITATION, limits=limits) as client:
        site = await client.token("site", "site")
        for guest in ("198.51.100.1", "198.51.100.2"):
            metadata = ((SITE_KEY, site), (GUEST_KEY, guest))
            request = pb.RegisterRequest(name="ada", invitation="inv_wrong")
            first = client.registration.Register(request, metadata=metadata)
            assert (await refusal_of(first)).reason == "INVITATION_REFUSED"
            again = client.registration.Register(request, metadata=metadata)
            assert (await refusal_of(again)).reason == "LIMIT_REACHED"


@pytest.mark.parametrize(
    "name",
    [
        *("alice", "ALICE", "a1ice", "al-ice", "Alice.", "champ", "Charnp", "CHAMP", "ch-amp", "аlice", "ａlice"),
        *("minimax", "rninimax", "Pascal", "site", "s1te", "site-7", "House_1", "h0use-1"),
        *("admin", "adm1n", "ac1min", "acImin", "R00T", "root.2", "bot-l.0", "Bot-1.O", "bot_1-0"),
        *("alice-guest-1", "alice-person", "x", "-ada", "ada-", "a..b", "ada#2", "a b", "", "a" * 33, "nou:x", "ada\n"),
    ],
)
async def test_names_that_look_like_others_are_refused(inviting: Client, name: str) -> None:
    await inviting.register("champ", "bot-1.0", owner="alice")
    created = await invite(inviting, uses=2)
    assert (await refusal_of(register(inviting, name, created.secret))).fields() == ["name"]
    for other in ("ada-lovelace", "bot-10"):
        await register(inviting, other, created.secret)


async def test_two_newcomers_cannot_take_names_that_look_alike(inviting: Client) -> None:
    created = await invite(inviting, uses=4)
    names = ("ada", "Ada", "ADA", "a-da")
    answers = await asyncio.gather(
        *(register(inviting, name, created.secret) for name in names), return_exceptions=True
    )
    assert sum(isinstance(answer, pb.RegisterResponse) for answer in answers) == 1
    assert (await invitation_of(inviting, 1)).used == 1


async def test_nobody_else_can_use_the_name_of_a_newcomer_for_a_bot(inviting: Client) -> None:
    created = await invite(inviting)
    newcomer = await register(inviting, "ada", created.secret)
    other = await inviting.token("mallory")
    for bot in ("ada", "Ada"):
        refusal = await refusal_of(inviting.first_frame(hello(bot=bot), bearer(other)))
        assert refusal.code is grpc.StatusCode.PERMISSION_DENIED
    welcome = await inviting.first_frame(hello(bot="ada"), bearer(newcomer.secret))
    assert welcome.welcome.bot == "bots/ada"


async def test_first_bot_enters_the_tournament_and_plays_its_first_game(inviting: Client) -> None:
    organiser = await inviting.token("alice")
    await inviting.register("house")
    await inviting.create(organiser, schedule=tournaments.SCHEDULE_LADDER)
    await inviting.join(organiser, "house")
    created = await invite(inviting, tournament="tournaments/cup")
    newcomer = await register(inviting, "ada", created.secret)
    assert newcomer.tournament == "tournaments/cup"
    async with inviting.online(organiser, "house"), inviting.online(newcomer.secret, "ada", "second"):
        await inviting.start(organiser)
        cup = await inviting.until(lambda cup: cup.games_done >= 2)
        labels = {row.label for row in cup.standings}
        assert "house" in labels
        assert len(labels) == 2
        games = await inviting.games.ListGames(games_pb2.ListGamesRequest(parent="tournaments/cup"))
        assert games.games


async def test_closed_registration_refuses_even_right_invitations(client: Client) -> None:
    created = await invite(client)
    refusal = await refusal_of(register(client, "ada", created.secret))
    assert refusal.status.message == "registration is closed, expected registration by invitation, or open"
    mode = (await client.registration.GetRegistration(pb.GetRegistrationRequest())).mode
    assert mode == pb.REGISTRATION_MODE_CLOSED


async def test_registration_without_an_invitation_is_refused_unless_it_is_open(inviting: Client) -> None:
    refusal = await refusal_of(inviting.registration.Register(pb.RegisterRequest(name="ada")))
    assert (refusal.reason, refusal.code) == ("WRONG_STATE", grpc.StatusCode.FAILED_PRECONDITION)


async def test_open_registration_needs_a_proof_of_work_that_counts_once(open_to_all: Client) -> None:
    method = open_to_all.registration.Register
    assert (await refusal_of(method(pb.RegisterRequest(name="ada")))).fields() == ["proof.challenge"]
    unsolved = await open_to_all.registration.GetRegistration(pb.GetRegistrationRequest())
    wrong = next(str(number) for number in count() if leading_zero_bits(unsolved.challenge, str(number)) < BITS)
    request = pb.RegisterRequest(name="ada", proof=pb.ProofOfWork(challenge=unsolved.challenge, solution=wrong))
    assert (await refusal_of(method(request))).fields() == ["proof.solution"]
    proof = await solved(open_to_all)
    assert (await method(pb.RegisterRequest(name="ada", proof=proof))).token.owner == "ada"
    replay = await refusal_of(method(pb.RegisterRequest(name="bob", proof=proof)))
    assert replay.fields() == ["proof.challenge"]
    assert "not been solved" in replay.status.message


async def test_a_proof_is_of_no_use_at_another_address(open_to_all: Client) -> None:
    site = await open_to_all.token("site", "site")
    proof = await solved(open_to_all)
    metadata = ((SITE_KEY, site), (GUEST_KEY, "198.51.100.1"))
    call = open_to_all.registration.Register(pb.RegisterRequest(name="ada", proof=proof), metadata=metadata)
    assert (await refusal_of(call)).fields() == ["proof.challenge"]


async def test_replays_in_parallel_register_one_owner(open_to_all: Client) -> None:
    proof = await solved(open_to_all)
    requests = [pb.RegisterRequest(name=f"bot{letter}x", proof=proof) for letter in "abcdefgh"]
    answers = await asyncio.gather(*map(open_to_all.registration.Register, requests), return_exceptions=True)
    assert sum(isinstance(answer, pb.RegisterResponse) for answer in answers) == 1


async def test_a_script_that_works_for_each_name_meets_the_limits_of_the_day(open_to_all: Client) -> None:
    reasons: list[str] = []
    async with asyncio.timeout(PATIENCE):
        for letter in "abcdefgh":
            request = pb.RegisterRequest(name=f"bot{letter}x", proof=await solved(open_to_all))
            try:
                await open_to_all.registration.Register(request)
                reasons.append("")
            except grpc.aio.AioRpcError as error:
                reasons.append(str(error.details()))
    assert reasons[:4] == [""] * 4
    assert all(reason.startswith("registrations in a day from 127.0.0.1") for reason in reasons[4:])


async def test_a_script_with_many_addresses_meets_the_limit_of_all(open_to_all: Client) -> None:
    created = await invite(open_to_all)
    site = await open_to_all.token("site", "site")
    service = open_to_all.registration
    reasons: list[str] = []
    async with asyncio.timeout(PATIENCE):
        for number in range(8):
            metadata = ((SITE_KEY, site), (GUEST_KEY, f"198.51.100.{number}"))
            offer = await service.GetRegistration(pb.GetRegistrationRequest(), metadata=metadata)
            proof = pb.ProofOfWork(challenge=offer.challenge, solution=solve(offer.challenge, offer.bits))
            request = pb.RegisterRequest(name=f"bot{number}x", proof=proof)
            try:
                await service.Register(request, metadata=metadata)
                reasons.append("")
            except grpc.aio.AioRpcError as error:
                reasons.append(str(error.details()))
    assert reasons[:6] == [""] * 6
    assert all(reason.startswith("registrations in a day from all addresses") for reason in reasons[6:])
    # Guests with an invitation still get in.
    assert (await register(open_to_all, "ada", created.secret)).token.owner == "ada"


async def test_refused_names_leave_the_registrations_of_the_day(open_to_all: Client) -> None:
    method = open_to_all.registration.Register
    async with asyncio.timeout(PATIENCE):
        for _ in range(7):
            request = pb.RegisterRequest(name="admin", proof=await solved(open_to_all))
            assert (await refusal_of(method(request))).fields() == ["name"]
        request = pb.RegisterRequest(name="ada", proof=await solved(open_to_all))
        assert (await method(request)).token.owner == "ada"
