"""The table of the API's routes, `api_routes.toml`, from which the OpenAPI document is also generated."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from typing import Any

from google.protobuf.descriptor import Descriptor
from google.protobuf.message_factory import GetMessageClass

from noughts_server.web.upstream import described

PREFIX = "/api/v1"


@dataclass(frozen=True)
class Route:
    """One address: a reading method of the contract."""

    path: str
    """Path beneath the prefix; names in braces are parameters, `{number:int}` is a whole number."""
    summary: str
    method: str
    """Service and method of the contract, e.g. `games.GetGame`."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Templates of the request's fields that the path sets, e.g. `bots/{bot}` for `name`."""
    rows: str = ""
    """The field of the response that holds the rows of the CSV; empty if there is no list."""
    within: str = ""
    """The only field of the response that is returned; empty: all of it."""

    @cached_property
    def request(self) -> Any:
        """The class of the request."""
        return GetMessageClass(described(self.method).input_type)

    @cached_property
    def answered(self) -> Descriptor:
        """The descriptor of the returned message."""
        response: Descriptor = described(self.method).output_type
        return response.fields_by_name[self.within].message_type or response if self.within else response


_TABLE = tomllib.loads((files(__package__) / "api_routes.toml").read_text())
ROUTES = tuple(Route(**row) for row in _TABLE["routes"])
EVENTS = tuple((row["path"], row["summary"]) for row in _TABLE["events"])
"""Streams of server-sent events: path and summary."""
