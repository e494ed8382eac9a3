"""RegistrationService: newcomers register themselves; the operator manages invitations."""

from collections.abc import Hashable
from functools import partial

import structlog

from noughts_proto.v1 import registration_pb2 as pb
from noughts_proto.v1 import registration_pb2_grpc
from noughts_server.convert.invitations import MODES, invitation_message
from noughts_server.convert.times import milliseconds, timestamp
from noughts_server.convert.tokens import token_message
from noughts_server.core.errors import NoughtsError, WrongState
from noughts_server.core.registration import Registration
from noughts_server.core.resource_names import invitation_id, tournament_id, tournament_name
from noughts_server.services.access import VISITOR, Access, Context, current_caller, open_to
from noughts_server.services.limiter import Limiter
from noughts_server.services.new_invitations import check_invitation, check_invited_scopes
from noughts_server.services.new_tokens import allowed_lifetime_ms
from noughts_server.services.proof_of_work import ProofOfWork
from noughts_server.store.engine.database import Store
from noughts_server.store.people.invitations import (
    create_invitation,
    invitation_page,
    named_invitation,
    revoke_invitation,
)
from noughts_server.store.people.newcomers import register
from noughts_server.store.people.proofs import SolvedChallenge, create_proof_key, proof_key

logger = structlog.get_logger("noughts.registration")

_CLOSED = "The operator creates tokens, or lets newcomers register: noughts serve --registration invitation"
_BY_INVITATION = "Ask the operator for an invitation."


class RegistrationServicer(registration_pb2_grpc.RegistrationServiceServicer):
    """Registers newcomers within the limits of their address and of the day."""

    def __init__(self, store: Store, limiter: Limiter, mode: Registration) -> None:
        self._store = store
        self._limiter = limiter
        self._mode = mode
        self._proofs: ProofOfWork | None = None
        """None until the first use."""

    @open_to(Access.ANYONE)
    async def GetRegistration(self, request: pb.GetRegistrationRequest, context: Context) -> pb.GetRegistrationResponse:
        if self._mode is not Registration.OPEN:
            return pb.GetRegistrationResponse(mode=MODES[self._mode])
        proofs = await self._proof_of_work()
        challenge = proofs.challenge(VISITOR.get().place, now_ms=self._store.now_ms())
        return pb.GetRegistrationResponse(
            mode=MODES[self._mode],
            challenge=challenge.text,
            bits=self._limiter.limits.proof_bits,
            expire_time=timestamp(challenge.expires_at),
        )

    @open_to(Access.NEWCOMER)
    async def Register(self, request: pb.RegisterRequest, context: Context) -> pb.RegisterResponse:
        if self._mode is Registration.CLOSED:
            raise WrongState("registration", "closed", "registration by invitation, or open", hint=_CLOSED)
        if not request.invitation and self._mode is not Registration.OPEN:
            raise WrongState("registration", "only by invitation", "an invitation", hint=_BY_INVITATION)
        place = VISITOR.get().place
        account = await self._attempts_account(request.invitation, place)
        # Charged before the secret is compared, so that the limit also bounds guesses.
        self._limiter.take("registration_attempts", account, f"refused attempts to register in a day from {place}")
        solved = None if request.invitation else await self._check_open_registration(request.proof, place)
        create = partial(
            register,
            name=request.name,
            invitation=request.invitation,
            solved=solved,
            now_ms=self._store.now_ms(),
            limits=self._limiter.limits,
        )
        try:
            created, invitation = await self._store.write(create)
        except NoughtsError:
            if not request.invitation:
                self._charge_registration(place, -1)
            raise
        if invitation is not None:
            self._limiter.charge("registration_attempts", account, -1)
        tournament = invitation.tournament if invitation else ""
        number = invitation.id if invitation else None
        logger.info("owner_registered", owner=created.token.owner, invitation=number, address=place)
        return pb.RegisterResponse(
            token=token_message(created.token),
            secret=created.secret,
            tournament=tournament_name(tournament) if tournament else "",
        )

    async def _attempts_account(self, invitation: str, place: str) -> Hashable:
        """Return the account to which an attempt counts: the place, and the invitation that the secret names.

        So nobody can use up the attempts of another invitation at the same address, without knowing a part of its link.
        """
        if not invitation:
            return place
        number = await self._store.read(partial(named_invitation, secret=invitation))
        return place if number is None else (place, number)

    async def _proof_of_work(self) -> ProofOfWork:
        if self._proofs is None:
            key = await self._store.read(proof_key)
            if key is None:
                key = await self._store.write(create_proof_key)
            self._proofs = ProofOfWork(key)
        return self._proofs

    async def _check_open_registration(self, proof: pb.ProofOfWork, place: str) -> SolvedChallenge:
        """Check the proof of work and charge the limits of registrations. Raises InvalidArgument, LimitReached."""
        limiter = self._limiter
        bits = limiter.limits.proof_bits
        proofs = await self._proof_of_work()
        solved = proofs.check(proof.challenge, proof.solution, address=place, bits=bits, now_ms=self._store.now_ms())
        for name, account, source in (("registrations", place, place), ("all_registrations", "", "all addresses")):
            if limiter.wait_seconds(name, account, 1) > 0:
                limiter.take(name, account, f"registrations in a day from {source}")
        self._charge_registration(place, 1)
        return solved

    def _charge_registration(self, place: str, amount: int) -> None:
        """Charge a registration without an invitation, or with -1, give back one that was refused."""
        self._limiter.charge("registrations", place, amount)
        self._limiter.charge("all_registrations", "", amount)

    @open_to(Access.ADMIN)
    async def CreateInvitation(
        self, request: pb.CreateInvitationRequest, context: Context
    ) -> pb.CreateInvitationResponse:
        caller = current_caller()
        now = self._store.now_ms()
        invitation = request.invitation
        scopes = check_invited_scopes(invitation.scopes)
        uses = invitation.uses or 1
        ttl = milliseconds("ttl", request.ttl if request.HasField("ttl") else None)
        lifetime_ms = allowed_lifetime_ms(caller, ttl, now)
        check_invitation(invitation.label, uses, lifetime_ms)
        tournament = invitation.tournament
        create = partial(
            create_invitation,
            scopes=scopes,
            uses=uses,
            label=invitation.label,
            tournament=tournament_id("invitation.tournament", tournament) if tournament else "",
            lifetime_ms=lifetime_ms,
            made_by=caller.token_id,
            now_ms=now,
        )
        created = await self._store.write(create)
        return pb.CreateInvitationResponse(invitation=invitation_message(created.invitation), secret=created.secret)

    @open_to(Access.ADMIN, reads=True)
    async def ListInvitations(self, request: pb.ListInvitationsRequest, context: Context) -> pb.ListInvitationsResponse:
        page = await self._store.read(partial(invitation_page, size=request.page_size, page_token=request.page_token))
        invitations = map(invitation_message, page.items)
        return pb.ListInvitationsResponse(invitations=invitations, next_page_token=page.next_page_token)

    @open_to(Access.ADMIN)
    async def RevokeInvitation(
        self, request: pb.RevokeInvitationRequest, context: Context
    ) -> pb.RevokeInvitationResponse:
        number = invitation_id("name", request.name)
        revoke = partial(revoke_invitation, number=number, now_ms=self._store.now_ms())
        return pb.RevokeInvitationResponse(invitation=invitation_message(await self._store.write(revoke)))
