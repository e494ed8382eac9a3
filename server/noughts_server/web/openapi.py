"""The OpenAPI document: `openapi.json` with the table of routes and the contract's message descriptors."""

import json
import re
from importlib.resources import files
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from noughts_server.core.version import software_version
from noughts_server.web.api_routes import EVENTS, PREFIX, ROUTES, Route
from noughts_server.web.documents import Document, enum_words, messages_in, schema
from noughts_server.web.queries import query_fields

_PARAMETER = re.compile(r"\{(\w+)(:int)?\}")


def openapi() -> Document:
    fixed: dict[str, Document] = json.loads((files(__package__) / "openapi.json").read_text())
    document = fixed["document"]
    document["info"]["version"] = software_version()
    document["components"]["schemas"] = _schemas()
    routes = {PREFIX + _plain(route.path): {"get": _operation(route, fixed)} for route in ROUTES}
    events = {PREFIX + _plain(path): {"get": _common(path, summary) | fixed["stream"]} for path, summary in EVENTS}
    document["paths"] = routes | events | document["paths"]
    return document


def _operation(route: Route, fixed: dict[str, Document]) -> Document:
    schema_of = f"#/components/schemas/{route.answered.name}"
    content: Document = {"application/json": {"schema": {"$ref": schema_of}}}
    operation = _common(route.path, route.summary)
    operation["parameters"] += map(_query_parameter, query_fields(route))
    if route.rows:
        content["text/csv"] = {"schema": {"type": "string"}}
        operation["parameters"].append(fixed["format"])
    answers = fixed["responses"]
    return operation | {"responses": answers | {"200": answers["200"] | {"content": content}}}


def _common(path: str, summary: str) -> Document:
    return {"summary": summary, "operationId": _operation_id(path), "parameters": _path_parameters(path)}


def _path_parameters(path: str) -> list[Document]:
    number, text = {"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[^/]+$"}
    found = _PARAMETER.findall(path)
    return [
        {"name": name, "in": "path", "required": True, "schema": number if whole else text} for name, whole in found
    ]


def _query_parameter(field: FieldDescriptor) -> Document:
    if field.enum_type is not None:
        return {"name": field.name, "in": "query", "schema": {"enum": enum_words(field.enum_type)}}
    kinds: dict[int, Document] = {
        FieldDescriptor.CPPTYPE_BOOL: {"type": "boolean"},
        FieldDescriptor.CPPTYPE_STRING: {"type": "string"},
        FieldDescriptor.CPPTYPE_INT32: {"type": "integer", "minimum": 0, "maximum": 2**31 - 1},
    }
    schema = kinds.get(field.cpp_type, {"type": "integer", "minimum": 0})
    array = {"explode": False, "schema": {"type": "array", "items": schema}}
    return {"name": field.name, "in": "query", **(array if field.is_repeated else {"schema": schema})}


def _schemas() -> dict[str, Any]:
    found: dict[str, Any] = {}
    waiting = [route.answered for route in ROUTES]
    while waiting:
        descriptor = waiting.pop()
        if descriptor.name not in found:
            found[descriptor.name] = schema(descriptor)
            waiting.extend(messages_in(descriptor))
    return dict(sorted(found.items()))


def _plain(path: str) -> str:
    return _PARAMETER.sub(r"{\1}", path)


def _operation_id(path: str) -> str:
    return re.sub(r"\W+", "_", _PARAMETER.sub(r"\1", path)).strip("_")
