"""Challenges: a match of one bot of the signed-in user against another bot, at once."""

from functools import partial

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from noughts_proto.v1 import challenges_pb2, types_pb2
from noughts_server.core.resource_names import short
from noughts_server.web.forms import FormErrors, in_form, number_of, time_control_of
from noughts_server.web.pages.bots import CHALLENGE_FORM, bot_page
from noughts_server.web.pages.website import Person, Website
from noughts_server.web.signin import read_form
from noughts_server.web.upstream import Failure


async def create_challenge(website: Website, request: Request, person: Person) -> Response:
    """Create the challenge that the form describes, or return the page of the opponent with what is wrong."""
    form = await read_form(request)
    opponent = form.get("opponent", "")
    upstream = website.upstream
    try:
        created = await upstream.call(upstream.challenges.CreateChallenge, _challenge_in(form), person.token)
    except Failure as failure:
        if failure.status == 401:
            raise
        wish = {name: form.get(name, "") for name in CHALLENGE_FORM}
        in_form(failure, CHALLENGE_FORM)
        return await bot_page(website, request, failure, wish=wish, name=short(opponent))
    return RedirectResponse(f"/{created.tournament.name}", 303)


def _challenge_in(form: dict[str, str]) -> challenges_pb2.CreateChallengeRequest:
    """Return the challenge that the form describes. Raises Failure with all wrong fields."""
    errors = FormErrors()
    challenge = challenges_pb2.CreateChallengeRequest(
        challenger=form.get("challenger", ""),
        opponent=form.get("opponent", ""),
        variant=form.get("variant", "").strip(),
        games=errors.read(partial(number_of, form, "games"), 0),
        time=errors.read(partial(time_control_of, form), types_pb2.TimeControl()),
    )
    errors.check(CHALLENGE_FORM)
    return challenge
