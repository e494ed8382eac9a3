"""The content of a hello and its limits."""

import pytest

from noughts_proto.transport import PROTOCOL
from noughts_proto.v1 import play_pb2 as pb
from noughts_server.core.errors import InvalidArgument
from noughts_server.runtime.hello import check_hello


def test_hello_with_long_names_of_variants_is_refused() -> None:
    check_hello(pb.Hello(protocol=PROTOCOL, variants=["mnk:15,15,5"] * 100))
    with pytest.raises(InvalidArgument, match=r"hello\.variants"):
        check_hello(pb.Hello(protocol=PROTOCOL, variants=["é" * 50] * 21))
