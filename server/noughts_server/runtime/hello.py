"""The validation of a hello, for the server and for `noughts bot check`, which works without a database."""

from noughts_proto.transport import PROTOCOL
from noughts_proto.v1 import play_pb2 as pb
from noughts_server.core.errors import InvalidArgument, ProtocolUnsupported
from noughts_server.store.validation import check_text

_LONGEST_AGENT = 200
_MOST_VARIANTS = 100
_MOST_VARIANT_BYTES = 2_000
"""Bytes of the names of all variants. In a cluster, servers repeat them once a second."""


def check_hello(hello: pb.Hello) -> None:
    """Raise ProtocolUnsupported for an unknown protocol version, InvalidArgument for a field that is too long."""
    if hello.protocol != PROTOCOL:
        raise ProtocolUnsupported(got=hello.protocol, minimum=PROTOCOL, maximum=PROTOCOL)
    if len(hello.variants) > _MOST_VARIANTS:
        raise InvalidArgument.of("hello.variants", f"{len(hello.variants)} names", f"at most {_MOST_VARIANTS}")
    variant_bytes = sum(len(name.encode()) for name in hello.variants)
    if variant_bytes > _MOST_VARIANT_BYTES:
        raise InvalidArgument.of(
            "hello.variants", f"{variant_bytes:,} bytes of names", f"at most {_MOST_VARIANT_BYTES:,}"
        )
    for text in (hello.agent, *hello.variants):
        check_text("hello", text, _LONGEST_AGENT)
