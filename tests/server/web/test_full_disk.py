"""If the website's disk is full, an upload is refused with a message."""

import resource
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest

from noughts_server.testing import ServerUnderTest
from tests.support.site import Site

from .test_signin import SignedIn

SIZE, LIMIT = 7 << 20, 4 << 20
"""Bytes of the upload, which the website writes to a temporary file, and of the largest file that it may write."""


@pytest.fixture
def small_files() -> Iterator[None]:
    """Limit the files of this process to 4 MiB."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("small_files")
def test_upload_that_does_not_fit_on_the_disk_is_refused(
    server: ServerUnderTest, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    visitor = SignedIn(site, server.token("ada"))
    fields = f'--x\r\ncontent-disposition: form-data; name="csrf"\r\n\r\n{visitor.csrf}\r\n'
    head = '--x\r\ncontent-disposition: form-data; name="file"; filename="a.wasm"\r\n\r\n'
    body = f"{fields}{head}".encode() + bytes(SIZE) + b"\r\n--x--\r\n"
    headers = {"cookie": visitor.cookie, "content-type": "multipart/form-data; boundary=x"}
    connection = HTTPConnection(site.address.removeprefix("http://"), timeout=60)
    connection.request("POST", "/me/bots", body, headers)
    answer = connection.getresponse()
    assert answer.status == 503
    assert "a limit on the size of its files is reached" in answer.read().decode()
    connection.close()
    assert [record.exc_info for record in caplog.records if record.name == "noughts.web"] == [None]
