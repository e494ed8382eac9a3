"""A real HTTP server that receives webhooks; a test chooses its answers."""

import hashlib
import hmac
import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from noughts_proto.security import Identity


class Request(NamedTuple):
    """A request, and the status of its answer."""

    headers: Mapping[str, str]
    body: bytes
    status: int

    @property
    def document(self) -> Any:
        return json.loads(self.body)

    @property
    def delivery(self) -> str:
        return self.headers["Noughts-Delivery"]

    def is_signed(self, secret: str) -> bool:
        """Return whether the signature is that of the timestamp and the body, which is computed here independently."""
        signed = self.headers["Noughts-Timestamp"].encode() + b"." + self.body
        expected = "sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
        return hmac.compare_digest(self.headers["Noughts-Signature"], expected)


class Receiver:
    """A receiver of webhooks.

    `requests` are those that it answered. `status` is that of the next answer; if None, a request gets no answer and
    its connection closes after `released` is set, or after a minute.
    """

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[Request] = []
        self.status: int | None = 204
        self.headers: dict[str, str] = {}
        self.released = threading.Event()
        self.arrived = threading.Semaphore(0)
        """Counts the requests, also those that hang."""

    def good(self) -> list[Request]:
        """The requests that were accepted."""
        return [request for request in self.requests if request.status == 204]


@contextmanager
def webhook_receiver(path: str = "/hook?team=1", identity: Identity | None = None) -> Iterator[Receiver]:
    """A receiver on a free port of this machine; with a certificate it speaks HTTPS."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if receiver.status is None:
                receiver.arrived.release()
                receiver.released.wait(60)
                return
            receiver.requests.append(Request(dict(self.headers), body, receiver.status))
            receiver.arrived.release()
            self.send_response(receiver.status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    scheme = "http"
    if identity is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(identity.certificate, identity.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "https"
    receiver.url = f"{scheme}://localhost:{server.server_port}{path}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield receiver
    finally:
        receiver.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
