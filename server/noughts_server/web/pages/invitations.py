"""The operator's page of invitations."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from noughts_proto.v1 import registration_pb2 as pb
from noughts_server.core.registration import MOST_USES
from noughts_server.core.resource_names import invitation_name, tournament_name
from noughts_server.web.documents import Document
from noughts_server.web.forms import in_form, whole_number
from noughts_server.web.pages.registration import entered_tournament
from noughts_server.web.pages.website import Person, Website
from noughts_server.web.signin import read_form
from noughts_server.web.upstream import Failure

_FORM = ("label", "uses", "days", "tournament", "play", "submit")
_DEFAULTS = {"uses": "1", "days": "7", "play": "on", "submit": "on", "label": "", "tournament": ""}
_MOST_INVITATIONS = 1_000
_MOST_DAYS = 36_500
_DAY_SECONDS = 86_400


async def invitations_page(website: Website, request: Request, person: Person) -> Response:
    """Return the page. The server refuses it to anyone but admins."""
    return await _page(website, request, person, _DEFAULTS)


async def _page(
    website: Website,
    request: Request,
    person: Person,
    values: dict[str, str],
    failure: Failure | None = None,
    secret: str = "",
    entered: Document | None = None,
) -> Response:
    registration = website.upstream.registration
    list_them = pb.ListInvitationsRequest(page_size=_MOST_INVITATIONS)
    answer = await website.upstream.ask(registration.ListInvitations, list_them, person.token)
    offer = await website.upstream.ask(registration.GetRegistration, pb.GetRegistrationRequest())
    return await website.views.page(
        request,
        "invitations.html.jinja",
        failure,
        invitations=list(reversed(answer["invitations"])),
        mode=offer["mode"],
        entered=entered,
        values=values,
        link=f"{website.views.base(request)}/invite#{secret}" if secret else "",
    )


async def create_invitation(website: Website, request: Request, person: Person) -> Response:
    form = await read_form(request)
    values = {name: form.get(name, "").strip() for name in _FORM}
    try:
        scopes = [scope for scope in ("play", "submit") if values[scope]]
        if not scopes:
            raise Failure(400, "The invitation permits nothing.", "Choose at least one permission.")
        tournament = values["tournament"].removeprefix("tournaments/")
        invitation = pb.Invitation(
            label=values["label"],
            scopes=scopes,
            uses=whole_number("uses", values["uses"], 1, MOST_USES),
            tournament=tournament_name(tournament) if tournament else "",
        )
        create = pb.CreateInvitationRequest(invitation=invitation)
        if values["days"]:
            create.ttl.FromSeconds(whole_number("days", values["days"], 1, _MOST_DAYS) * _DAY_SECONDS)
        method = website.upstream.registration.CreateInvitation
        created = await website.upstream.ask(method, create, person.token)
    except Failure as failure:
        if failure.status == 401:
            raise
        if failure.status == 404:
            failure.field = "tournament"
        return await _page(website, request, person, values, in_form(failure, _FORM))
    entered = await entered_tournament(website, created["invitation"]["tournament"])
    return await _page(website, request, person, _DEFAULTS, secret=created["secret"], entered=entered)


async def revoke_invitation(website: Website, request: Request, person: Person) -> Response:
    await read_form(request)
    revoke = pb.RevokeInvitationRequest(name=invitation_name(request.path_params["number"]))
    await website.upstream.ask(website.upstream.registration.RevokeInvitation, revoke, person.token)
    return RedirectResponse("/invitations", 303)
