"""Actions on tournaments for organisers and authors: create, join, start, pause, extend, cancel; and challenges."""

from collections.abc import Mapping
from typing import Any

import grpc.aio
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from noughts_proto.v1 import tournaments_pb2
from noughts_server.competition.formats import FORMATS, format_named
from noughts_server.competition.formats.tournament_format import FixedPairings, LateEntries
from noughts_server.competition.tournament_settings import OPTIONS, TournamentSettings
from noughts_server.convert.settings import challenge_message, settings_message
from noughts_server.convert.times import time_control
from noughts_server.core.resource_names import tournament_name
from noughts_server.web import words
from noughts_server.web.documents import Document
from noughts_server.web.forms import MOST, in_form, number_of, time_of, whole_number, wrong
from noughts_server.web.people import People, Person
from noughts_server.web.signin import read_form
from noughts_server.web.upstream import Failure, Upstream
from noughts_server.web.views import Views

_FORMATS = {str(each).replace("-", "_"): f"{each.title}: {each.summary}" for each in FORMATS}
_EMPTY = (
    "id",
    "title",
    "move",
    "concurrency",
    "entries_min",
    "entries_max",
    "openings",
    "plies",
    "seed",
    "repeat",
    *OPTIONS,
)
_USUAL = {"variant": "tictactoe", "schedule": "round_robin", "games_per_pair": "2", "bank": "60", "increment": "0.5"}
_FORM: Document = {**dict.fromkeys(_EMPTY, ""), **_USUAL, "rated": "on"}
"""Fields of the form and their defaults."""
_RENAMED = {"name": "id", "kind": "openings", "openings": "plies"}
"""Fields of the API whose fields in the form have other names."""
_NUMBERS = dict.fromkeys(("games_per_pair", "concurrency"), MOST)
"""Numeric fields of the settings, with their largest values; an empty one means the default."""
_NUMBERS.update({name: each.most for name, each in OPTIONS.items() if type(each.default) is int})
_SWITCHES = tuple(name for name, each in OPTIONS.items() if type(each.default) is bool)
_TEXTS = tuple(name for name, each in OPTIONS.items() if type(each.default) is str)
_RARE = {*OPTIONS, "openings", "plies", "concurrency", "entries_min", "entries_max", "seed"} - {"rounds", "sprt"}
"""Fields of the part that is closed as long as they are empty."""


class Organising:
    """The form for a new tournament, and the actions on an existing one."""

    def __init__(self, upstream: Upstream, views: Views, people: People) -> None:
        self._upstream = upstream
        self._views = views
        self._people = people

    def addresses(self) -> list[Route]:
        for_person = self._people.for_person
        return [
            Route("/organise", for_person(self._form), methods=["GET"]),
            Route("/organise", for_person(self._create), methods=["POST"]),
            Route("/challenges", for_person(self._challenge), methods=["POST"]),
            Route("/tournaments/{tournament}/{action}", for_person(self._act), methods=["POST"]),
        ]

    async def desk(self, request: Request, tournament: Document) -> Document | None:
        """Return what the signed-in user may do with the tournament; None if no user is signed in."""
        person = await self._people.person(request)
        if person is None:
            return None
        bots = await self._people.bots(person)
        own = {bot["name"] for bot in bots}
        entered = {words.bot(row["bot_version"]) for row in tournament["standings"]}
        organises = person.is_admin or tournament["owner"] == person.owner
        over = tournament["state"] in ("finished", "cancelled")
        active = [row for row in tournament["standings"] if not over and not row["withdraw_time"]]
        return {
            "organises": organises,
            "bots": [bot for bot in bots if bot["name"] not in entered] if _takes_entries(tournament) else [],
            "guests": organises and _takes_entries(tournament),
            "labels": [row["label"] for row in active if organises or words.bot(row["bot_version"]) in own],
            "actions": _actions(tournament) if organises else [],
            "adds": _added(tournament),
        }

    async def rivals(self, request: Request, bot: Document) -> list[Document]:
        """Return the signed-in user's bots that can challenge this one now."""
        person = await self._people.person(request) if bot["online"] else None
        if person is None:
            return []
        return [each for each in await self._people.bots(person) if each["online"] and each["name"] != bot["name"]]

    async def _form(self, request: Request, person: Person) -> Response:
        return await self._shown(request, _FORM)

    async def _shown(self, request: Request, values: Document, failure: Failure | None = None) -> Response:
        return await self._views.page(request, "organise", failure, values=values, formats=_FORMATS, rare=_RARE)

    async def _create(self, request: Request, person: Person) -> Response:
        form = await read_form(request)
        values = {name: form.get(name, "").strip() for name in _FORM}
        try:
            token, wanted = person.visitor.token, _tournament(values)
            made = await self._upstream.ask(
                self._upstream.tournaments.CreateTournament,
                tournaments_pb2.CreateTournamentRequest(tournament=wanted),
                token,
            )
        except Failure as failure:
            if failure.status == 401:
                raise
            cause = failure.__cause__
            if isinstance(cause, grpc.aio.AioRpcError) and cause.code() is grpc.StatusCode.ALREADY_EXISTS:
                failure = Failure(409, "This name is already taken.", "Choose another.", field="id")
            return await self._shown(request, values, in_form(failure, _FORM, _RENAMED))
        return RedirectResponse(f"/{made['tournament']['name']}", 303)

    async def _act(self, request: Request, person: Person) -> Response:
        form = await read_form(request)
        name = tournament_name(request.path_params["tournament"])
        await self._change(request.path_params["action"], name, form, person.visitor.token)
        return RedirectResponse(f"/{name}", 303)

    async def _change(self, action: str, name: str, form: Mapping[str, str], token: str) -> None:
        """Call the method of the action on the tournament. Raises Failure."""
        upstream, label, bot = self._upstream, form.get("label", ""), form.get("bot", "")
        match action:
            case "start":
                start = tournaments_pb2.StartTournamentRequest(name=name)
                await upstream.call(upstream.tournaments.StartTournament, start, token)
            case "pause":
                pause = tournaments_pb2.PauseTournamentRequest(name=name)
                await upstream.call(upstream.tournaments.PauseTournament, pause, token)
            case "cancel":
                cancel = tournaments_pb2.CancelTournamentRequest(name=name)
                await upstream.call(upstream.tournaments.CancelTournament, cancel, token)
            case "join":
                full_name = bot if bot.startswith("bots/") else f"bots/{bot}"
                join = tournaments_pb2.JoinTournamentRequest(name=name, bot=full_name, label=label)
                await upstream.call(upstream.tournaments.JoinTournament, join, token)
            case "withdraw":
                withdraw = tournaments_pb2.WithdrawTournamentRequest(name=name, label=label)
                await upstream.call(upstream.tournaments.WithdrawTournament, withdraw, token)
            case "extend":
                extend = tournaments_pb2.ExtendTournamentRequest(
                    name=name, games_per_pair=number_of(form, "games_per_pair"), rounds=number_of(form, "rounds")
                )
                await upstream.call(upstream.tournaments.ExtendTournament, extend, token)
            case _:
                raise Failure(404, f"Unknown action {action!r}.")

    async def _challenge(self, request: Request, person: Person) -> Response:
        form = await read_form(request)
        settings = TournamentSettings(
            variant=form.get("variant", "").strip(),
            games_per_pair=number_of(form, "games"),
            time=time_control(time_of(form)),
        )
        challenge = challenge_message(
            settings, challenger=form.get("challenger", ""), opponent=form.get("opponent", ""), seed=None
        )
        made = await self._upstream.call(self._upstream.challenges.CreateChallenge, challenge, person.visitor.token)
        return RedirectResponse(f"/{made.tournament.name}", 303)


def _tournament(values: Document) -> tournaments_pb2.Tournament:
    """Return the tournament that the form describes. Raises Failure."""
    if values["schedule"] not in _FORMATS:
        raise wrong("schedule", values["schedule"], f"one of {', '.join(_FORMATS)}")
    if not values["id"]:
        raise wrong("id", "", "1 to 63 characters from a-z, 0-9 and -")
    options: dict[str, Any] = {field: values[field] for field in ("title", "variant", *_TEXTS)}
    options |= {field: number for field, most in _NUMBERS.items() if (number := number_of(values, field, most))}
    options |= {field: bool(values[field]) for field in _SWITCHES}
    settings = TournamentSettings(
        schedule=format_named(values["schedule"]),
        time=time_control(time_of(values)),
        rated=bool(values["rated"]),
        **options,
    )
    seed = whole_number("seed", values["seed"], 0, 2**64 - 1) if values["seed"] else None
    tournament = settings_message(settings, seed=seed)
    tournament.name = tournament_name(values["id"])
    tournament.entries_min = number_of(values, "entries_min")
    tournament.entries_max = number_of(values, "entries_max")
    if values["openings"]:
        openings = tournaments_pb2.Openings(kind=values["openings"], plies=number_of(values, "plies"))
        tournament.openings.CopyFrom(openings)
    if values["repeat"]:
        tournament.repeat = tournaments_pb2.REPEAT_WEEKLY
    return tournament


def _takes_entries(tournament: Document) -> bool:
    state, late = str(tournament["state"]), format_named(str(tournament["schedule"])).late_entries
    if state == "paused":
        return late is not LateEntries.NEVER
    return state == "open" or (state == "running" and late is LateEntries.ALWAYS)


def _added(tournament: Document) -> str:
    """Return the setting that can be raised after the start; empty if the format has none."""
    chosen = format_named(str(tournament["schedule"]))
    if "rounds" in chosen.own_settings:
        return "rounds"
    return "games_per_pair" if isinstance(chosen, FixedPairings) else ""


def _actions(tournament: Document) -> list[str]:
    extend = ["extend"] if _added(tournament) else []
    return {
        "open": ["start", "cancel"],
        "running": ["pause", *extend, "cancel"],
        "paused": ["start", *extend, "cancel"],
        "finished": extend,
    }.get(tournament["state"], [])
