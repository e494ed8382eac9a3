"""Challenges: a match of one bot of the signed-in user against another bot, at once."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.convert.settings import challenge_message
from noughts_server.convert.times import time_control
from noughts_server.web.documents import Document
from noughts_server.web.forms import number_of, time_control_of
from noughts_server.web.pages.website import Person, Website
from noughts_server.web.signin import read_form


async def possible_challengers(website: Website, request: Request, bot: Document) -> list[Document]:
    """Return the signed-in user's bots that can challenge this one now."""
    person = await website.person(request) if bot["online"] else None
    if person is None:
        return []
    own_bots = await website.bots_of(person)
    return [own_bot for own_bot in own_bots if own_bot["online"] and own_bot["name"] != bot["name"]]


async def create_challenge(website: Website, request: Request, person: Person) -> Response:
    form = await read_form(request)
    settings = TournamentSettings(
        variant=form.get("variant", "").strip(),
        games_per_pair=number_of(form, "games"),
        time=time_control(time_control_of(form)),
    )
    challenge = challenge_message(
        settings, challenger=form.get("challenger", ""), opponent=form.get("opponent", ""), seed=None
    )
    upstream = website.upstream
    created = await upstream.call(upstream.challenges.CreateChallenge, challenge, person.token)
    return RedirectResponse(f"/{created.tournament.name}", 303)
