"""Submission of a bot from the browser: a file, its name, and optionally a tournament to enter."""

from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route as Address

from noughts_proto.v1 import bots_pb2 as pb
from noughts_server.client.submissions import TRIAL_SECONDS, kind_of, submission_requests
from noughts_server.web.forms import in_form
from noughts_server.web.people import People, Person
from noughts_server.web.signin import read_form_with_file
from noughts_server.web.upstream import Failure, Upstream

_RENAMED = {"file": "file", **{f"submission.{field}": f"upload-{field}" for field in ("bot", "entry", "variant")}}
"""The ids of the form's fields by those of a submission."""
LARGEST_FILE = 8 << 20
"""In bytes; the server's own limit can be lower."""


class HandingIn:
    """The submission form on a user's own page."""

    def __init__(self, upstream: Upstream, people: People) -> None:
        self._upstream = upstream
        self._people = people

    def addresses(self) -> list[Address]:
        return [Address("/me/bots", self._people.for_person(self._hand_in), methods=["POST"])]

    async def _hand_in(self, request: Request, person: Person) -> Response:
        try:
            form, file = await read_form_with_file(request, "file", LARGEST_FILE)
            if not file.content:
                hint = "Choose a WebAssembly module or a Python file."
                raise Failure(400, "No file was chosen.", hint, field="file")
            announced = pb.Submission(
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
                joining = {"name": tournament, "bot": made.version.name}
                await self._upstream.ask("tournaments.JoinTournament", person.visitor.token, **joining)
        except Failure as failure:
            if failure.status == 401:
                raise
            in_form(failure, _RENAMED.values(), _RENAMED)
            return await self._people.shown(request, person, failure, "upload")
        return RedirectResponse(f"/bots/{made.version.name.split('/')[1]}", 303)


def _kind(name: str, content: bytes) -> str:
    """Return the kind of the file, `wasm` or `py`. Raises Failure if it is neither."""
    if (kind := kind_of(name, content)) is not None:
        return kind
    hint = "Run a program on your own machine: noughts bot run"
    words = f"{name[:100]!r} is not a WebAssembly module, a Python file or a zip file of one."
    raise Failure(400, words, hint, field="file")
