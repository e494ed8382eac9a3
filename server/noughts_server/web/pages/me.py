"""The user's own page: bots, submissions, tokens and tournaments."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from noughts_proto.v1 import bots_pb2, games_pb2, status_pb2, tokens_pb2, tournaments_pb2
from noughts_server.client.submissions import TRIAL_SECONDS, file_kind, submission_requests
from noughts_server.core.resource_names import bot_name, token_name
from noughts_server.web.documents import Document
from noughts_server.web.forms import in_form, whole_number
from noughts_server.web.joining import takes_entries
from noughts_server.web.pages.website import Person, Website
from noughts_server.web.signin import read_form, read_form_with_file
from noughts_server.web.upstream import Failure
from noughts_server.web.words import bot as bot_of
from noughts_server.web.words import titled

_MOST_TOKENS = 1_000
_RECENT = 10
"""Tournaments, bots and games of each list of the page."""
_MOST_NAMED = 1
"""Tournaments that the row of a bot names."""
_DAY_SECONDS = 86_400
_TOKEN_FORM = ("label", "days", "bot")
_EMPTY_FORMS = dict.fromkeys(
    ("bot", "entry", "variant", "tournament", "label", "days", "play", "submit", "organise", "admin"), ""
)
"""The fields of both forms, without the file."""
_UPLOAD_FORM = {
    "file": "file",
    "submission.bot": "upload-bot",
    "submission.entry": "upload-entry",
    "submission.variant": "upload-variant",
}
"""The ids of the form's fields, by field of a submission."""
_LARGEST_FILE = 8 << 20
"""In bytes; the server's own limit can be lower."""


async def own_page(
    website: Website,
    request: Request,
    person: Person,
    failure: Failure | None = None,
    failed_form: str = "",
    values: Mapping[str, str] = MappingProxyType({}),
    new_token: str = "",
) -> Response:
    """Return the page, with the failure of one of its forms, `upload` or `tokens`, or with a token just created.

    `values` are what was sent with the form that failed.
    """
    upstream = website.upstream
    list_own = tournaments_pb2.ListTournamentsRequest(owner=person.owner, page_size=_RECENT)
    list_tokens = tokens_pb2.ListTokensRequest(page_size=_MOST_TOKENS)
    bots, tournaments, newest, status, tokens = await asyncio.gather(
        website.bots_of(person, retired=True),
        upstream.ask(upstream.tournaments.ListTournaments, list_own),
        upstream.ask(upstream.tournaments.ListTournaments, tournaments_pb2.ListTournamentsRequest()),
        upstream.ask(upstream.status.GetStatus, status_pb2.GetStatusRequest()),
        upstream.ask(upstream.tokens.ListTokens, list_tokens, person.token),
    )
    active = [bot["name"] for bot in bots if not bot["retire_time"]][:_RECENT]
    activity = dict(zip(active, await asyncio.gather(*(_activity(website, name) for name in active)), strict=True))
    return await website.views.page(
        request,
        "me.html.jinja",
        failure,
        person=person,
        bots=bots,
        activity=activity,
        titles=await _titles(website, activity),
        games=_newest_games(activity),
        tournaments=tournaments["tournaments"],
        tokens=[token for token in tokens["tokens"] if token["owner"] == person.owner],
        joinable=[tournament for tournament in newest["tournaments"] if takes_entries(tournament)],
        accepts=status["accepts"],
        form=failed_form,
        values={**_EMPTY_FORMS, **values},
        secret=new_token,
    )


@dataclass(frozen=True)
class _Activity:
    """What an own bot does, and how its newest games went."""

    running_game: str
    """The name of a game that it plays now; empty: none."""
    entered: list[str]
    """The names of the first tournaments that it has entered and that are not over."""
    more_entered: int
    """How many others it has entered."""
    games: list[Document]
    """Its newest games, the newest first."""
    faults: list[Document]
    """Those that it lost by a fault of its own."""


async def _activity(website: Website, bot: str) -> _Activity:
    upstream = website.upstream
    state, page = await asyncio.gather(
        upstream.ask(upstream.bots.GetBot, bots_pb2.GetBotRequest(name=bot)),
        upstream.ask(upstream.games.ListGames, games_pb2.ListGamesRequest(parent=bot, page_size=_RECENT)),
    )
    return _Activity(
        running_game=state["running_game"],
        entered=state["entered"][:_MOST_NAMED],
        more_entered=len(state["entered"][_MOST_NAMED:]),
        games=page["games"],
        faults=[game for game in page["games"] if game["fault"] and _loser(game) == bot],
    )


async def _titles(website: Website, activity: Mapping[str, _Activity]) -> dict[str, str]:
    """Return the titles of the tournaments that the rows of the bots name, by name."""
    upstream = website.upstream
    names = {name for each in activity.values() for name in each.entered}
    requests = (tournaments_pb2.GetTournamentRequest(name=name) for name in names)
    responses = await asyncio.gather(*(upstream.ask(upstream.tournaments.GetTournament, each) for each in requests))
    return {each["tournament"]["name"]: titled(each["tournament"]) for each in responses}


def _loser(game: Document) -> str:
    """Return the name of the bot that lost the game; empty if none did."""
    return bot_of({"1-0": game["second_bot"], "0-1": game["first_bot"]}.get(game["result"], ""))


def _newest_games(activity: Mapping[str, _Activity]) -> list[Document]:
    """Return the newest games of all active bots together."""
    games = {game["name"]: game for each in activity.values() for game in each.games}
    return sorted(games.values(), key=lambda game: str(game["end_time"]), reverse=True)[:_RECENT]


async def submit_bot(website: Website, request: Request, person: Person) -> Response:
    """Submit a bot as a file, with its name, and optionally enter it in a tournament."""
    upstream = website.upstream
    form: dict[str, str] = {}
    try:
        form, file = await read_form_with_file(request, "file", _LARGEST_FILE)
        if not file.content:
            hint = "Choose a WebAssembly module or a Python file."
            raise Failure(400, "No file was chosen.", hint, field="file")
        submission = bots_pb2.Submission(
            bot=form.get("bot", "").strip() or file.name.partition(".")[0],
            kind=_kind(file.name, file.content),
            entry=form.get("entry", "").strip(),
            variant=form.get("variant", "").strip(),
            file_name=file.name[-200:],
        )
        requests = submission_requests(submission, file.content)
        submit: Any = upstream.bots.SubmitBot  # a method that takes a stream of requests
        response = await upstream.call(submit, requests, person.token, seconds=TRIAL_SECONDS)
    except Failure as failure:
        if failure.status == 401:
            raise
        in_form(failure, _UPLOAD_FORM.values(), _UPLOAD_FORM)
        return await own_page(website, request, person, failure, failed_form="upload", values=form)
    if tournament := form.get("tournament", ""):
        try:
            join = tournaments_pb2.JoinTournamentRequest(name=tournament, bot=response.version.name)
            await upstream.ask(upstream.tournaments.JoinTournament, join, person.token)
        except Failure as failure:
            if failure.status == 401:
                raise
            failure.message = f"The bot {submission.bot} is uploaded and can play, but not entered: {failure.message}"
            return await own_page(website, request, person, failure, failed_form="upload", values=form)
    bot = response.version.name.split("/")[1]
    return RedirectResponse(f"/bots/{bot}?uploaded={'same' if response.unchanged else 'new'}", 303)


async def create_token(website: Website, request: Request, person: Person) -> Response:
    form = await read_form(request)
    scopes = [scope for scope in ("play", "submit", "organise", "admin") if form.get(scope)]
    if bot := form.get("bot"):
        scopes.append(f"play:{bot}")
    create = tokens_pb2.CreateTokenRequest(token=tokens_pb2.Token(label=form.get("label", ""), scopes=scopes))
    try:
        if not scopes:
            raise Failure(400, "The token permits nothing.", "Choose at least one permission.")
        if days := form.get("days", "").strip():
            create.ttl.FromSeconds(whole_number("days", days, 1, 36_500) * _DAY_SECONDS)
        created = await website.upstream.ask(website.upstream.tokens.CreateToken, create, person.token)
    except Failure as failure:
        failure = in_form(failure, _TOKEN_FORM, {"scopes": "bot"})
        return await own_page(website, request, person, failure, failed_form="tokens", values=form)
    return await own_page(website, request, person, new_token=created["secret"])


async def revoke_token(website: Website, request: Request, person: Person) -> Response:
    await read_form(request)
    revoke = tokens_pb2.RevokeTokenRequest(name=token_name(request.path_params["number"]))
    await website.upstream.ask(website.upstream.tokens.RevokeToken, revoke, person.token)
    return RedirectResponse("/me?tab=tokens", 303)


async def retire_bot(website: Website, request: Request, person: Person) -> Response:
    """Retire a bot, or undo that."""
    form = await read_form(request)
    retire = bots_pb2.RetireBotRequest(name=bot_name(request.path_params["bot"]), undo=bool(form.get("undo")))
    await website.upstream.ask(website.upstream.bots.RetireBot, retire, person.token)
    return RedirectResponse("/me", 303)


def _kind(name: str, content: bytes) -> str:
    """Return the kind of the file, `wasm` or `py`. Raises Failure if it is neither."""
    if (kind := file_kind(name, content)) is not None:
        return kind
    hint = "Run a program on your own machine: noughts bot run"
    message = f"{name[:100]!r} is not a WebAssembly module, a Python file or a zip file of one."
    raise Failure(400, message, hint, field="file")
