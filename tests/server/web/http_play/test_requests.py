"""Wrong requests of bots over HTTP: fields, lengths and bodies that are refused or cut off."""

import pytest

from noughts_server.testing import ServerUnderTest
from noughts_server.web.visitors import SiteLimits
from tests.support.http_bots import PLAY, bots, send
from tests.support.processes import eventually
from tests.support.site import Site, connection_to, site_of


@pytest.mark.parametrize(
    "body, words",
    [
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "body: got [], expected an object"),
        (b"{}", "bot: got nothing, expected the name of the bot"),
        (b'{"bot": 7}', "bot: got 7"),
        (b'{"bot": "\\ud800"}', "bot: got"),
        (b'{"bot": "x", "colour": "red"}', "colour: unknown"),
        (b'{"bot": "x", "\\ud800": "red"}', "ud800"),
        (b'{"bot": "x", "bot": "y"}', 'body: got the field "bot" twice in one object, expected it once'),
        (b'{"\\ud800": 1, "\\ud800": 2}', 'the field "\\ud800" twice'),
        (b'{"bot": "x", "capacity": 0}', "capacity: got 0"),
        (b'{"bot": "x", "capacity": true}', "capacity: got true"),
        (b'{"bot": "x", "variants": "tictactoe"}', "variants: got"),
        (b'{"bot": "No Name"}', "No Name"),
    ],
)
def test_sessions_with_wrong_fields_are_refused(site: Site, server: ServerUnderTest, body: bytes, words: str) -> None:
    answer = send(site.address, "POST", PLAY, server.token("wrong"), body)
    assert answer.status == 400
    assert words in answer.document["error"]["message"]


@pytest.mark.parametrize(
    "path, body, words",
    [
        ("/turns?wait=26", None, "parameter wait: got '26', expected seconds from 0 to 25"),
        ("/turns?wait=nan", None, "parameter wait"),
        ("/turns?after=x", None, "parameter after: got 'x'"),
        ("/turns?after=7", None, "expected at most 0"),
        ("/turns?colour=red", None, "parameter 'colour': unknown"),
        ("/moves", {"moves": [{"turn": 1}]}, "moves[0].move: got nothing"),
        ("/moves", {"moves": [{"turn": 1, "move": 1, "resign": ""}]}, "got a move and a resignation"),
        ("/moves", {"moves": [{"turn": 1, "move": -1}]}, "moves[0].move: got -1"),
        ("/moves", {"moves": [{"turn": 1, "move": 1, "score": 1e999}]}, "moves[0].score"),
        ("/moves", {"moves": [{"turn": 1, "move": 1}] * 2}, "two moves for one turn"),
        ("/moves", {"moves": [{"turn": 1, "move": 1}]}, "moves[0].turn: got 1"),
        ("/moves", {"moves": [7]}, "moves[0]: got 7, expected an object"),
    ],
)
def test_wrong_requests_of_a_session_are_refused(
    site: Site, server: ServerUnderTest, path: str, body: object, words: str
) -> None:
    (bot,) = bots(site, server, "careless")
    answer = send(site.address, "GET" if body is None else "POST", bot.path + path, bot.token, body)
    assert answer.status == 400
    assert words in answer.document["error"]["message"]


def test_large_bodies_are_refused(site: Site, server: ServerUnderTest) -> None:
    answer = send(site.address, "POST", PLAY, server.token("large"), b" " * 300_000)
    assert answer.status == 413


def head_of(token: str, *headers: str) -> bytes:
    """The head of a request that opens a session."""
    lines = (f"POST {PLAY} HTTP/1.1", "host: here", f"authorization: Bearer {token}", *headers, "", "")
    return "\r\n".join(lines).encode()


@pytest.mark.parametrize(
    "header, piece",
    [("content-length: 100000", b" "), ("transfer-encoding: chunked", b"1\r\n \r\n")],
    ids=["length", "chunks"],
)
def test_bodies_that_arrive_byte_by_byte_are_cut_off(server: ServerUnderTest, header: str, piece: bytes) -> None:
    with site_of(server.address, limits=SiteLimits(body_seconds=0.5)) as site, connection_to(site) as connection:
        connection.sendall(head_of(server.token("slow"), header))
        connection.settimeout(0.02)

        def is_closed() -> bool:
            try:
                connection.sendall(piece)
                return connection.recv(1) == b""
            except TimeoutError:
                return False
            except OSError:
                return True

        assert eventually(is_closed)
        assert site.get("/api/v1/status").status == 200


def test_bodies_without_end_are_cut_off(site: Site, server: ServerUnderTest) -> None:
    chunk = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
    with connection_to(site) as connection:
        connection.sendall(head_of(server.token("endless"), "transfer-encoding: chunked"))

        def send_without_end() -> None:
            while True:
                connection.sendall(chunk)

        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            send_without_end()


@pytest.mark.parametrize(
    "headers",
    [
        ("content-length: 5",),
        ("content-length: -1",),
        ("content-length: 99999999999999999999",),
        ("content-length: 18", "content-length: 5"),
        ("content-length: 18", "transfer-encoding: chunked"),
        (),
    ],
)
def test_bodies_with_wrong_lengths_open_no_session(
    site: Site, server: ServerUnderTest, headers: tuple[str, ...]
) -> None:
    with connection_to(site) as connection:
        connection.sendall(head_of(server.token("wrong"), *headers) + b'{"bot": "smuggled"}')
        received = b""
        while data := connection.recv(4096):
            received += data
    assert received[:13] in (b"HTTP/1.1 400 ", b"")  # nothing, if the rest of the body is no request
    assert site.get("/api/v1/bots/smuggled").status == 404


def test_requests_for_another_protocol_get_an_error(site: Site, server: ServerUnderTest) -> None:
    body = b'{"bot": "java"}'
    with connection_to(site) as connection:
        connection.sendall(
            f"POST {PLAY} HTTP/1.1\r\nhost: here\r\nauthorization: Bearer {server.token('java')}\r\n"
            f"connection: Upgrade\r\nupgrade: h2c\r\ncontent-length: {len(body)}\r\n\r\n".encode()
            + body
        )
        received = b""
        while b"}}" not in received:
            received += connection.recv(4096)
    assert received.startswith(b"HTTP/1.1 400 ")
    assert b"The header Upgrade asks for another protocol" in received


def test_tokens_are_not_taken_where_others_could_read_them(server: ServerUnderTest) -> None:
    with site_of(server.address, host="0.0.0.0") as site:
        address = site.address.replace("0.0.0.0", "127.0.0.1")
        answer = send(address, "POST", PLAY, server.token("public"), {"bot": "public"})
        assert answer.status == 403
        assert "HTTPS" in answer.document["error"]["hint"]
