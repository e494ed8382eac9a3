"""The OpenAPI document, from the routes of the API and the contract's message descriptors."""

import re
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from noughts_proto.v1 import registration_pb2, types_pb2
from noughts_server.core.version import software_version
from noughts_server.web.api_routes import EVENTS, PREFIX, REGISTRATION, ROUTES, ApiRoute
from noughts_server.web.documents import Document, enum_words, messages_in, schema
from noughts_server.web.play_contract import OPEN, PLAY_ROUTES, SCHEMAS, PlayRoute
from noughts_server.web.queries import query_fields

_PARAMETER = re.compile(r"\{(\w+)(:int)?\}")

_FAILED: Document = {
    "description": "Why there is no answer, and what to do.",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "properties": {
                    "error": {
                        "type": "object",
                        "properties": {
                            "status": {"type": "integer"},
                            "message": {"type": "string"},
                            "hint": {"type": "string"},
                        },
                        "required": ["status", "message", "hint"],
                    }
                },
                "required": ["error"],
            }
        }
    },
}
_DEFAULT: Document = {"$ref": "#/components/responses/Failed"}
_DESCRIPTION: Document = {
    "summary": "This document.",
    "operationId": "openapi",
    "responses": {
        "200": {"description": "The OpenAPI document.", "content": {"application/json": {"schema": {"type": "object"}}}}
    },
}
_STREAM: Document = {
    "description": (
        "Server-sent events: `snapshot` (everything; also after a gap), `increments` (apply them in order), "
        "`away` and `back` (the server behind this site), `over` (nothing will follow)."
    ),
    "responses": {
        "200": {"description": "The stream.", "content": {"text/event-stream": {"schema": {"type": "string"}}}},
        "default": _DEFAULT,
    },
}
_FORMAT: Document = {
    "name": "format",
    "in": "query",
    "description": "Instead of an Accept header.",
    "schema": {"enum": ["json", "csv"]},
}


def openapi() -> Document:
    """Return the OpenAPI document."""
    routes = {PREFIX + _plain(route.path): {"get": _operation(route)} for route in ROUTES}
    events = {PREFIX + _plain(path): {"get": _common(path, summary) | _STREAM} for path, summary in EVENTS}
    play = {PREFIX + route.path: {route.method.lower(): _play_operation(route)} for route in PLAY_ROUTES}
    routes[PREFIX + REGISTRATION.path]["post"] = _register()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Noughts",
            "description": (
                "Tournaments, games, bots and ratings of a Noughts server, to read, play over HTTP, and registration. "
                "Names and fields are those of the gRPC contract noughts.v1."
            ),
            "license": {"name": "MIT", "identifier": "MIT"},
            "version": software_version(),
        },
        "servers": [{"url": "/"}],
        "security": [],
        "paths": {**routes, **events, **play, f"{PREFIX}/openapi.json": {"get": _DESCRIPTION}},
        "components": {
            "responses": {"Failed": _FAILED},
            "schemas": _schemas() | SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _register() -> Document:
    """Return the operation with which newcomers register, the only one that changes something."""
    request = schema(registration_pb2.RegisterRequest.DESCRIPTOR)
    response: Document = {"$ref": "#/components/schemas/RegisterResponse"}
    return {
        "summary": "Registers a newcomer with an invitation, or with a proof of work if registration is open.",
        "operationId": "register",
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": request | {"required": ["name"], "additionalProperties": False}}
            },
        },
        "responses": {
            "201": {
                "description": "The new owner's token. Its secret is returned only once.",
                "content": {"application/json": {"schema": response}},
            },
            "default": _DEFAULT,
        },
    }


def _operation(route: ApiRoute[Any, Any]) -> Document:
    schema_path = f"#/components/schemas/{route.returned_message.name}"
    content: Document = {"application/json": {"schema": {"$ref": schema_path}}}
    operation = _common(route.path, route.summary)
    operation["parameters"] += map(_query_parameter, query_fields(route))
    if route.rows:
        content["text/csv"] = {"schema": {"type": "string"}}
        operation["parameters"].append(_FORMAT)
    operation["responses"] = {
        "200": {
            "description": "What was asked for.",
            "headers": {"ETag": {"schema": {"type": "string"}}},
            "content": content,
        },
        "304": {"description": "What If-None-Match names is still true."},
        "default": _DEFAULT,
    }
    return operation


def _play_operation(route: PlayRoute) -> Document:
    answered: Document = {"description": "The answer."}
    if route.response:
        answered["content"] = _json_of(route.response)
    if route is OPEN:
        answered["links"] = {
            other.name: {"operationId": other.name, "parameters": {"session": "$response.body#/session"}}
            for other in PLAY_ROUTES
            if other is not OPEN
        }
    operation: Document = {
        "summary": route.summary,
        "operationId": route.name,
        "security": [{"token": []}],
        "parameters": [*_path_parameters(route.path), *route.parameters],
        "responses": {str(route.status): answered, "default": _DEFAULT},
    }
    if route.body:
        operation["requestBody"] = {"required": True, "content": _json_of(route.body)}
    return operation


def _json_of(schema_name: str) -> Document:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema_name}"}}}


def _common(path: str, summary: str) -> Document:
    return {"summary": summary, "operationId": _operation_id(path), "parameters": _path_parameters(path)}


def _path_parameters(path: str) -> list[Document]:
    number = {"type": "integer", "minimum": 0}
    text = {"type": "string", "pattern": "^[^/]+$"}
    return [
        {"name": name, "in": "path", "required": True, "schema": number if converter else text}
        for name, converter in _PARAMETER.findall(path)
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
    if field.is_repeated:
        return {"name": field.name, "in": "query", "explode": False, "schema": {"type": "array", "items": schema}}
    return {"name": field.name, "in": "query", "schema": schema}


def _schemas() -> dict[str, Any]:
    schemas: dict[str, Any] = {}
    descriptors: list[Descriptor] = [types_pb2.TimeControl.DESCRIPTOR]
    descriptors += [route.returned_message for route in ROUTES]
    descriptors += [registration_pb2.RegisterRequest.DESCRIPTOR, registration_pb2.RegisterResponse.DESCRIPTOR]
    while descriptors:
        descriptor = descriptors.pop()
        if descriptor.name not in schemas:
            schemas[descriptor.name] = schema(descriptor)
            descriptors.extend(messages_in(descriptor))
    return dict(sorted(schemas.items()))


def _plain(path: str) -> str:
    return _PARAMETER.sub(r"{\1}", path)


def _operation_id(path: str) -> str:
    return re.sub(r"\W+", "_", _PARAMETER.sub(r"\1", path)).strip("_")
