"""The website sends no secret over a plaintext connection to another machine."""

import pytest

from noughts_proto.security import Dialling
from noughts_proto.v1 import registration_pb2
from noughts_server.web.upstream import Failure, Upstream


async def test_website_sends_no_invitation_in_plaintext_to_another_machine() -> None:
    upstream = Upstream("192.0.2.1:7484", Dialling())
    try:
        for invitation in ("inv_secret", ""):
            with pytest.raises(Failure, match="a connection in plaintext") as refusal:
                await upstream.register(registration_pb2.RegisterRequest(name="ada", invitation=invitation))
            assert refusal.value.status == 501
    finally:
        await upstream.close()
