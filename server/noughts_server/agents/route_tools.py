"""Tools that call one method of the contract: the routes of the JSON API, and the actions of `actions.toml`."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from inspect import Parameter, Signature
from typing import Annotated, Any, Literal

from google.protobuf.descriptor import FieldDescriptor
from mcp.server.mcpserver.tools import Tool
from pydantic import Field

from noughts_referee.clock import parse_time_control
from noughts_server.agents.tools import Backend, Caller, meaning, tournament_and_number
from noughts_server.messages.settings_codec import time_control_message
from noughts_server.web.api_routes import ROUTES, Route
from noughts_server.web.documents import Document, document, enum_number, enum_words
from noughts_server.web.queries import INTEGERS, query_fields


@dataclass(frozen=True)
class Action(Route):
    """A method that changes something. Its path only lists the required arguments."""

    also: tuple[str, ...] = ()
    """Further fields of the request that can be set, e.g. `test.tournament.variant`."""
    destroys: bool = False


_ACTIONS = [Action(**row) for row in tomllib.loads((files(__package__) / "actions.toml").read_text())["actions"]]
_IN_PATH = re.compile(r"\{(\w+)(:int)?\}")
_COLLECTION = re.compile(r"^(?:tournaments|tests|bots)/")
_OPTIONAL_NAMES = {"opponent": "bots", "tournament": "tournaments"}
"""The collections of optional arguments that are names."""


def route_tools(backend: Backend) -> Iterator[Tool]:
    """Yield a tool for each route and action, named after its method: `get_game`."""
    methods = [route.method for route in ROUTES]
    for route in (*ROUTES, *_ACTIONS):
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", route.method.partition(".")[2]).lower()
        if methods.count(route.method) > 1:
            name += f"_of_{_IN_PATH.findall(route.path)[0][0]}"
        yield _tool(backend, route, name)


def _tool(backend: Backend, route: Route, name: str) -> Tool:
    action = route if isinstance(route, Action) else None
    required, also = dict(_IN_PATH.findall(route.path)), action.also if action else ()
    flat = [field.name for field in query_fields(route) if field.name not in required and meaning(name, field.name)]
    optional = {path.rpartition(".")[2]: path for path in (*flat, *also)}

    is_of_game = set(required) == {"tournament", "number"}

    async def ask(caller: Caller, **arguments: Any) -> Document:
        request = route.request()
        if is_of_game:
            place = tournament_and_number(arguments["game"], arguments["tournament"], arguments["number"])
            arguments["tournament"], arguments["number"] = place
        for path, template in route.names.items():
            _set(request, path, template.format_map({each: _short(arguments[each]) for each in required}))
        for each, path in optional.items():
            if (value := arguments[each]) is not None:
                _set(request, path, f"{_OPTIONAL_NAMES[each]}/{_short(value)}" if each in _OPTIONAL_NAMES else value)
        got = await backend.upstream.call(backend.upstream.method(route.method), request, backend.token(caller))
        return document(getattr(got, route.within) if route.within else got)

    kinds = {each: (Annotated[int, Field(ge=0)] if whole else str) for each, whole in required.items()}
    parameters = [Parameter(each, Parameter.KEYWORD_ONLY, annotation=kind) for each, kind in kinds.items()]
    if is_of_game:
        kinds = {"game": str, **kinds}
        parameters = [
            Parameter(each, Parameter.KEYWORD_ONLY, default=None, annotation=kind | None)
            for each, kind in kinds.items()
        ]
    for each, path in optional.items():
        kind = _kind(_place(route.request(), path)[1]) | None
        parameters.append(Parameter(each, Parameter.KEYWORD_ONLY, default=None, annotation=kind))
    caller = Parameter("caller", Parameter.KEYWORD_ONLY, annotation=Caller)
    vars(ask)["__signature__"] = Signature([caller, *parameters])
    summary = f"{route.summary.partition('; as CSV')[0].rstrip('.')}."
    return backend.tool(
        ask, name, summary, read_only_hint=not action, destructive_hint=bool(action and action.destroys)
    )


def _short(name: object) -> str:
    """Return the name without its collection: answers have whole names. `bot@2` is known as well."""
    return _COLLECTION.sub("", str(name)).replace("@", "/versions/")


def _place(request: Any, path: str) -> tuple[Any, FieldDescriptor]:
    """Return the message that holds the field, and the field."""
    *outer, last = path.split(".")
    for each in outer:
        request = getattr(request, each)
    return request, request.DESCRIPTOR.fields_by_name[last]


def _set(request: Any, path: str, value: Any) -> None:
    holder, field = _place(request, path)
    if field.message_type is not None:  # all are time controls
        getattr(holder, field.name).CopyFrom(time_control_message(parse_time_control(value)))
    elif field.is_repeated:
        getattr(holder, field.name).extend(value)
    else:
        setattr(holder, field.name, value if field.enum_type is None else enum_number(field.enum_type, value))


def _kind(field: FieldDescriptor) -> Any:
    """Return the type of an argument for the field; a time control is a text such as `60+0.5`."""
    if field.enum_type is not None:
        return Literal[tuple(enum_words(field.enum_type))]
    kind: Any = bool if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL else str
    if field.cpp_type in INTEGERS:
        kind = Annotated[int, Field(ge=0, lt=INTEGERS[field.cpp_type][1])]
    return list.__class_getitem__(kind) if field.is_repeated else kind
