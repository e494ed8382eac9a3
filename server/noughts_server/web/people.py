"""Signed-in users: their identity, bots, tokens and tournaments."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from noughts_proto.v1 import bots_pb2, games_pb2, leaderboards_pb2, status_pb2, tokens_pb2, tournaments_pb2
from noughts_server.client.submissions import TRIAL_SECONDS, kind_of, submission_requests
from noughts_server.core.resource_names import bot_name, token_name
from noughts_server.web.documents import Document
from noughts_server.web.forms import in_form, whole_number
from noughts_server.web.signin import (
    Visitor,
    place_after,
    read_form,
    read_form_with_file,
    read_token,
    signed_in,
    signed_out,
    to_sign_in,
    visitor_of,
)
from noughts_server.web.upstream import Failure, Upstream
from noughts_server.web.views import Views
from noughts_server.web.visitors import Recent, address_of

_MOST = 1_000
_RECENT = 10
_MOST_FAILURES = 10
_DAY_SECONDS = 86_400
_TOKEN_FORM = ("label", "days", "bot")
_UPLOAD_FORM = {"file": "file", **{f"submission.{field}": f"upload-{field}" for field in ("bot", "entry", "variant")}}
"""The ids of the form's fields by those of a submission."""
_LARGEST_FILE = 8 << 20
"""In bytes; the server's own limit can be lower."""
_SELF = "tokens/self"


class Person(NamedTuple):
    """A user whose token the server accepts."""

    visitor: Visitor
    owner: str
    scopes: tuple[str, ...]

    @property
    def is_admin(self) -> bool:
        """Whether the user may manage everything on the server."""
        return "admin" in self.scopes


class People:
    """Signing in and out, and the user's own page."""

    def __init__(self, upstream: Upstream, views: Views, *, secure: bool) -> None:
        """`secure`: browsers use HTTPS, and send the cookie only over HTTPS."""
        self._upstream = upstream
        self._views = views
        self._secure = secure
        self._failed = Recent()
        """Failed attempts to sign in, by address."""

    def addresses(self) -> list[Route]:
        """Return the routes if users can sign in."""
        return [
            Route("/signin", self._sign_in_page, methods=["GET"]),
            Route("/signin", self._sign_in, methods=["POST"]),
            Route("/signout", self._sign_out, methods=["POST"]),
            Route("/me", self.for_person(self.shown), methods=["GET"]),
            Route("/me/bots", self.for_person(self._submit), methods=["POST"]),
            Route("/me/tokens", self.for_person(self._make_token), methods=["POST"]),
            Route("/me/tokens/{number:int}/revoke", self.for_person(self._revoke), methods=["POST"]),
            Route("/suspicious", self.for_person(self._suspicious), methods=["GET"]),
            Route("/bots/{bot}/retire", self.for_person(self._retire), methods=["POST"]),
        ]

    def closed(self) -> list[Route]:
        """Return the routes if users cannot sign in: a page that explains why."""
        return [Route("/signin", self._sign_in_page, methods=["GET"])]

    def for_person(
        self, answer: Callable[[Request, Person], Coroutine[Any, Any, Response]]
    ) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap a handler for signed-in users; redirect others to the sign-in page."""

        async def guarded(request: Request) -> Response:
            person = await self.person(request)
            return to_sign_in(request) if person is None else await answer(request, person)

        return guarded

    async def person(self, request: Request) -> Person | None:
        """Return the signed-in user. Raises Failure, with status 401 if the server rejects the token."""
        visitor = visitor_of(request)
        if visitor is None:
            return None
        token = (
            await self._upstream.ask(
                self._upstream.tokens.GetToken, tokens_pb2.GetTokenRequest(name=_SELF), visitor.token
            )
        )["token"]
        return Person(visitor, token["owner"], tuple(token["scopes"]))

    async def bots(self, person: Person, *, retired: bool = False) -> list[Document]:
        """Return the user's bots by name."""
        got = await self._upstream.ask(
            self._upstream.bots.ListBots,
            bots_pb2.ListBotsRequest(owner=person.owner, page_size=_MOST, show_retired=retired),
        )
        found: list[Document] = got["bots"]
        return found

    async def _sign_in_page(self, request: Request) -> Response:
        return await self._sign_in_shown(request, expired=request.query_params.get("expired") == "true")

    async def _sign_in_shown(
        self, request: Request, failure: Failure | None = None, *, expired: bool = False
    ) -> Response:
        place = place_after(request.query_params.get("next", ""))
        return await self._views.page(request, "signin", failure, next=place, expired=expired)

    async def _sign_in(self, request: Request) -> Response:
        address = address_of(request.scope)
        form = await read_form(request)
        try:
            token = read_token(form.get("token", ""))
            await self._upstream.ask(self._upstream.tokens.GetToken, tokens_pb2.GetTokenRequest(name=_SELF), token)
        except Failure as failure:
            if failure.status in (400, 401):
                self._failed.add(address)
                if self._failed.count(address) > _MOST_FAILURES:
                    words = f"{_MOST_FAILURES} attempts have failed within a minute."
                    failure = Failure(429, words, "Try again in a minute; a valid token is accepted at once.")
            return await self._sign_in_shown(request, failure)
        after = RedirectResponse(place_after(form.get("next", "")), 303)
        return signed_in(after, token, secure=self._secure)

    async def _sign_out(self, request: Request) -> Response:
        await read_form(request)
        return signed_out(RedirectResponse("/", 303))

    async def shown(
        self, request: Request, person: Person, failure: Failure | None = None, form: str = "", secret: str = ""
    ) -> Response:
        """Return the user's own page, with the failure of one of its forms: `upload` or `tokens`."""
        bots, tournaments, joinable, status, tokens = await asyncio.gather(
            self.bots(person, retired=True),
            self._upstream.ask(
                self._upstream.tournaments.ListTournaments,
                tournaments_pb2.ListTournamentsRequest(owner=person.owner, page_size=_RECENT),
            ),
            self._upstream.ask(self._upstream.tournaments.ListTournaments, tournaments_pb2.ListTournamentsRequest()),
            self._upstream.ask(self._upstream.status.GetStatus, status_pb2.GetStatusRequest()),
            self._upstream.ask(
                self._upstream.tokens.ListTokens, tokens_pb2.ListTokensRequest(page_size=_MOST), person.visitor.token
            ),
        )
        own = {"bots": bots, "games": await self._recent_games(bots), "tournaments": tournaments["tournaments"]}
        own["tokens"] = [each for each in tokens["tokens"] if each["owner"] == person.owner]
        shown: Document = {"person": person, **own, "accepts": status["accepts"], "form": form, "secret": secret}
        shown["joinable"] = [each for each in joinable["tournaments"] if each["state"] == "open"]
        return await self._views.page(request, "me", failure, **shown)

    async def _recent_games(self, bots: list[Document]) -> list[Document]:
        """Return the newest games of all active bots together."""
        active = [bot["name"] for bot in bots if not bot["retire_time"]][:_RECENT]
        asked = (
            self._upstream.ask(
                self._upstream.games.ListGames, games_pb2.ListGamesRequest(parent=name, page_size=_RECENT)
            )
            for name in active
        )
        of_each = await asyncio.gather(*asked)
        games = {game["name"]: game for found in of_each for game in found["games"]}
        return sorted(games.values(), key=lambda game: str(game["end_time"]), reverse=True)[:_RECENT]

    async def _submit(self, request: Request, person: Person) -> Response:
        """Submit a bot as a file, with its name, and optionally enter it in a tournament."""
        try:
            form, file = await read_form_with_file(request, "file", _LARGEST_FILE)
            if not file.content:
                hint = "Choose a WebAssembly module or a Python file."
                raise Failure(400, "No file was chosen.", hint, field="file")
            announced = bots_pb2.Submission(
                bot=form.get("bot", "").strip() or file.name.partition(".")[0],
                kind=_kind(file.name, file.content),
                entry=form.get("entry", "").strip(),
                variant=form.get("variant", "").strip(),
                file_name=file.name[-200:],
            )
            requests = submission_requests(announced, file.content)
            submit: Any = self._upstream.bots.SubmitBot  # a method that takes a stream of requests
            made = await self._upstream.call(submit, requests, person.visitor.token, seconds=TRIAL_SECONDS)
            if tournament := form.get("tournament", ""):
                joining = tournaments_pb2.JoinTournamentRequest(name=tournament, bot=made.version.name)
                await self._upstream.ask(self._upstream.tournaments.JoinTournament, joining, person.visitor.token)
        except Failure as failure:
            if failure.status == 401:
                raise
            in_form(failure, _UPLOAD_FORM.values(), _UPLOAD_FORM)
            return await self.shown(request, person, failure, "upload")
        return RedirectResponse(f"/bots/{made.version.name.split('/')[1]}", 303)

    async def _make_token(self, request: Request, person: Person) -> Response:
        form = await read_form(request)
        scopes = [scope for scope in ("play", "submit", "organise", "admin") if form.get(scope)]
        if bot := form.get("bot"):
            scopes.append(f"play:{bot}")
        token = tokens_pb2.Token(label=form.get("label", ""), scopes=scopes)
        wanted = tokens_pb2.CreateTokenRequest(token=token)
        try:
            if not scopes:
                raise Failure(400, "The token permits nothing.", "Choose at least one permission.")
            if days := form.get("days", "").strip():
                wanted.ttl.FromSeconds(whole_number("days", days, 1, 36_500) * _DAY_SECONDS)
            made = await self._upstream.ask(self._upstream.tokens.CreateToken, wanted, person.visitor.token)
        except Failure as failure:
            return await self.shown(request, person, in_form(failure, _TOKEN_FORM, {"scopes": "bot"}), "tokens")
        return await self.shown(request, person, secret=made["secret"])

    async def _revoke(self, request: Request, person: Person) -> Response:
        await read_form(request)
        name = token_name(request.path_params["number"])
        await self._upstream.ask(
            self._upstream.tokens.RevokeToken, tokens_pb2.RevokeTokenRequest(name=name), person.visitor.token
        )
        return RedirectResponse("/me?tab=tokens", 303)

    async def _retire(self, request: Request, person: Person) -> Response:
        form = await read_form(request)
        name = bot_name(request.path_params["bot"])
        await self._upstream.ask(
            self._upstream.bots.RetireBot,
            bots_pb2.RetireBotRequest(name=name, undo=bool(form.get("undo"))),
            person.visitor.token,
        )
        return RedirectResponse("/me", 303)

    async def _suspicious(self, request: Request, person: Person) -> Response:
        """Return the page of results that look arranged. The server refuses it to anyone but admins."""
        found = await self._upstream.ask(
            self._upstream.leaderboards.FindSuspiciousResults,
            leaderboards_pb2.FindSuspiciousResultsRequest(),
            person.visitor.token,
        )
        return await self._views.page(request, "suspicious", results=found["results"])


def _kind(name: str, content: bytes) -> str:
    """Return the kind of the file, `wasm` or `py`. Raises Failure if it is neither."""
    if (kind := kind_of(name, content)) is not None:
        return kind
    hint = "Run a program on your own machine: noughts bot run"
    words = f"{name[:100]!r} is not a WebAssembly module, a Python file or a zip file of one."
    raise Failure(400, words, hint, field="file")
