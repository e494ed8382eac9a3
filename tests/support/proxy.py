"""A reverse proxy with the configuration of docs/how-to/operations.md; only addresses and files are replaced."""

import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from noughts_proto.security import Dialling
from tests.support.authority import Authority
from tests.support.root import ROOT
from tests.support.tools import nginx

_PAGE = ROOT / "docs" / "how-to" / "operations.md"
_PATIENCE = 90
_MAIN = """daemon off; pid {folder}/nginx.pid; error_log stderr; worker_processes 1;
events {{ worker_connections 512; }}
http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
{configuration}
}}
"""


@contextmanager
def proxy_before(server: str, folder: Path, website: str = "", public: str = "") -> Iterator[tuple[str, Dialling]]:
    """A proxy before the server at HOST:PORT; the block gets the proxy's HOST:PORT and the settings to connect to it.

    The proxy also listens at `public` (HOST:PORT; a free port if empty) for the site at `website` (HOST:PORT).
    """
    program, authority = nginx(), Authority(folder)
    identity = authority.identity("proxy")
    address = f"127.0.0.1:{free_port()}"
    configuration = documented_configuration()
    for documented, replacement in (
        ("listen 7450", f"listen {address}"),
        ("/etc/noughts/server.pem", str(identity.certificate)),
        ("/etc/noughts/server.key", str(identity.key)),
        ("127.0.0.1:17450;", f"{server};"),
        ("listen 7480", f"listen {public or f'127.0.0.1:{free_port()}'}"),
        ("127.0.0.1:17480;", f"{website or server};"),
    ):
        assert documented in configuration
        configuration = configuration.replace(documented, replacement)
    file = folder / "nginx.conf"
    file.write_text(_MAIN.format(folder=folder, configuration=configuration), encoding="utf-8")
    process = subprocess.Popen([program, "-e", "stderr", "-c", file, "-p", folder])
    try:
        _wait_for(address)
        yield address, Dialling(ca=authority.certificate)
    finally:
        process.terminate()
        process.wait(_PATIENCE)


def documented_configuration() -> str:
    """Return the configuration of nginx that the page shows."""
    block = re.search(r"(?s)```nginx\n(.*?)```", _PAGE.read_text(encoding="utf-8"))
    assert block is not None
    return block[1]


def free_port() -> int:
    """A port of this machine where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _wait_for(address: str) -> None:
    host, _, port = address.rpartition(":")
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            socket.create_connection((host, int(port)), 1).close()
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        else:
            return
