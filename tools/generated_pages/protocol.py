"""The protocol: services, messages and enums with the comments of the .proto files, and what each method requires."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
    ServiceDescriptorProto,
)

import noughts_proto
from noughts_server.services.access import Access, declaration
from tools.generated_pages.markdown import code, prose, table
from tools.regenerate import proto_files

PACKAGE = "noughts.v1"
_ROOT = Path(noughts_proto.__file__).parents[1]
_INTERNAL = ("cluster",)
"""Files with messages between the parts of a cluster, which are not for clients."""
_KIND = FieldDescriptorProto.Type
# Numbers of the fields of FileDescriptorProto, DescriptorProto and so on, of which a comment's place consists.
_MESSAGE, _ENUM, _SERVICE = 4, 5, 6
_FIELD, _NESTED, _NESTED_ENUM, _VALUE, _METHOD, _SYNTAX = 2, 3, 4, 2, 2, 12

Place = tuple[int, ...]


class Source(NamedTuple):
    """A .proto file with its comments."""

    file: FileDescriptorProto
    comments: dict[Place, str]

    @property
    def name(self) -> str:
        """The file's name without its folder and ending, e.g. `play`."""
        return Path(self.file.name).stem

    def comment(self, *place: int) -> str:
        """Return the comment at a place as Markdown; empty if there is none."""
        return prose(" ".join(self.comments.get(place, "").split()))


@cache
def sources() -> tuple[Source, ...]:
    """Return the files of the protocol for clients."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "all"
        command = [
            *(sys.executable, "-m", "grpc_tools.protoc"),
            f"--proto_path={_ROOT}",
            f"--proto_path={sysconfig.get_path('purelib')}",
            *_paths_of_google(),
            "--include_source_info",
            f"--descriptor_set_out={target}",
            *proto_files(_ROOT),
        ]
        subprocess.run(command, check=True)
        found = FileDescriptorSet.FromString(target.read_bytes())
    read = (
        Source(file, {tuple(at.path): at.leading_comments for at in file.source_code_info.location})
        for file in found.file
    )
    return tuple(message for message in read if message.name not in _INTERNAL)


def _paths_of_google() -> Iterator[str]:
    """Yield the folders of Google's .proto files, wherever the package with them is installed."""
    for folder in import_module("google").__path__:
        yield f"--proto_path={Path(folder).parent}"


def methods(argument: str) -> str:
    """Return a table of all methods of all services, by service."""
    parts = []
    for source in sources():
        for number, service in enumerate(source.file.service):
            parts += [f"### {service.name}", source.comment(_SERVICE, number), _methods_of(source, number, service)]
    return "\n\n".join(parts)


def _methods_of(source: Source, number: int, service: ServiceDescriptorProto) -> str:
    return table(
        ("method", "request", "answer", "requires", "purpose"),
        (
            (
                code(method.name),
                _link(method.input_type, stream=method.client_streaming),
                _link(method.output_type, stream=method.server_streaming),
                access_of(source.name, service.name, method.name).value,
                source.comment(_SERVICE, number, _METHOD, index),
            )
            for index, method in enumerate(service.method)
        ),
    )


def access_of(file: str, service: str, method: str) -> Access:
    """Return what a method requires of its callers."""
    servicer = getattr(import_module(f"noughts_server.services.{file}"), f"{service}r")
    declared = declaration(getattr(servicer, method))
    assert declared is not None
    return declared.access


def messages(argument: str) -> str:
    """Return all messages and enums, by file."""
    parts = []
    for source in sources():
        parts += [f"### {source.name}.proto", source.comment(_SYNTAX)]
        for number, message in enumerate(source.file.message_type):
            parts += _message(source, message, (_MESSAGE, number), "")
        for number, enum in enumerate(source.file.enum_type):
            parts += _enum(source, enum, (_ENUM, number), "")
    return "\n\n".join(filter(None, parts))


def _message(source: Source, message: DescriptorProto, place: Place, outer: str) -> Iterator[str]:
    name = f"{outer}{message.name}"
    yield f"#### {name}"
    yield source.comment(*place)
    if not message.field:
        yield "No fields."
        return
    yield table(
        ("field", "type", "number", "meaning"),
        (
            (code(field.name), _type(message, field), str(field.number), _meaning(source, message, field, place, index))
            for index, field in enumerate(message.field)
        ),
    )
    for number, nested in enumerate(message.nested_type):
        if not nested.options.map_entry:
            yield from _message(source, nested, (*place, _NESTED, number), f"{name}.")
    for number, enum in enumerate(message.enum_type):
        yield from _enum(source, enum, (*place, _NESTED_ENUM, number), f"{name}.")


def _meaning(source: Source, message: DescriptorProto, field: FieldDescriptorProto, place: Place, index: int) -> str:
    comment = source.comment(*place, _FIELD, index)
    if not field.HasField("oneof_index") or field.proto3_optional:
        return comment
    return f"One of `{message.oneof_decl[field.oneof_index].name}`. {comment}"


def _type(message: DescriptorProto, field: FieldDescriptorProto) -> str:
    if field.type not in (_KIND.TYPE_MESSAGE, _KIND.TYPE_ENUM):
        name = code(_KIND.Name(field.type).removeprefix("TYPE_").lower())
    else:
        for nested in message.nested_type:
            if nested.options.map_entry and field.type_name.endswith(f".{message.name}.{nested.name}"):
                return f"map from {_type(nested, nested.field[0])} to {_type(nested, nested.field[1])}"
        name = _link(field.type_name)
    if field.label == FieldDescriptorProto.Label.LABEL_REPEATED:
        return f"repeated {name}"
    return f"optional {name}" if field.proto3_optional else name


def _link(name: str, *, stream: bool = False) -> str:
    """Return a link to a message or enum, given by its full name with a leading dot."""
    short = name.removeprefix(f".{PACKAGE}.")
    link = code(name[1:]) if short == name else f"[`{short}`](#{re.sub(r'[^a-z0-9]', '', short.lower())})"
    return f"stream of {link}" if stream else link


def _enum(source: Source, enum: EnumDescriptorProto, place: Place, outer: str) -> Iterator[str]:
    yield f"#### {outer}{enum.name}"
    yield source.comment(*place)
    yield table(
        ("value", "number", "meaning"),
        (
            (code(each.name), str(each.number), source.comment(*place, _VALUE, number))
            for number, each in enumerate(enum.value)
        ),
    )


def comments_of_enum(name: str) -> dict[str, str]:
    """Return the comment of each value of an enum, by the value's name."""
    [(source, number, enum)] = [
        (source, number, enum)
        for source in sources()
        for number, enum in enumerate(source.file.enum_type)
        if enum.name == name
    ]
    return {each.name: source.comment(_ENUM, number, _VALUE, index) for index, each in enumerate(enum.value)}
