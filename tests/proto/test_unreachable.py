"""Reasons for failed connections, in words."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import grpc
import pytest

from noughts_proto.unreachable import why_unreachable
from noughts_proto.v1 import status_pb2, status_pb2_grpc
from tests.support.patience import PATIENCE


def grpc_message(address: str) -> str:
    """Return the message of gRPC about a call to that address."""
    with grpc.insecure_channel(address) as channel, pytest.raises(grpc.RpcError) as raised:
        status_pb2_grpc.StatusServiceStub(channel).GetStatus(status_pb2.GetStatusRequest(), timeout=PATIENCE)
    return str(raised.value.details())


@contextmanager
def program_that_answers(answer: bytes) -> Iterator[str]:
    """HOST:PORT of a program that gives every caller this answer."""

    def serve() -> None:
        while True:
            try:
                visitor, _ = listening.accept()
            except OSError:
                return
            with visitor:
                visitor.sendall(answer)
                visitor.recv(1_000)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
    thread.join()


def test_reason_for_a_port_without_a_server() -> None:
    with socket.socket() as bound_socket:
        bound_socket.bind(("127.0.0.1", 0))
        assert why_unreachable(grpc_message(f"127.0.0.1:{bound_socket.getsockname()[1]}")) == "nothing listens there"


def test_reason_for_a_port_of_another_program() -> None:
    with program_that_answers(b"HTTP/1.1 400 Bad Request\r\n\r\n") as address:
        assert why_unreachable(grpc_message(address)) == "what answers there is no Noughts server"


def test_reason_for_a_host_that_does_not_exist() -> None:
    assert why_unreachable(grpc_message("nowhere.invalid:1")) == "no machine of that name is known"


def test_an_unknown_reason_is_reported_unchanged() -> None:
    assert why_unreachable("failed to connect to all addresses; last error: UNKNOWN: the moon") == "the moon"
    assert why_unreachable("") == "no reason was given"
