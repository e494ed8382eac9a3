"""Webhooks are sent only to public addresses of other machines. The tests send nothing to these real addresses."""

import asyncio
import socket
import subprocess
import sys
import threading
from functools import partial
from typing import Any

import pytest

from noughts_server.runtime.public_addresses import OWNER_LOOKUPS, LookupsBusy, find_addresses, is_own, is_public
from tests.support.namespaces import another_host

PRIVATE = [
    *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"),
    *("224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.0.8", "192.0.2.1", "198.18.0.1", "198.51.100.1"),
    *("203.0.113.1", "192.88.99.1", "192.31.196.1", "192.52.193.1", "192.175.48.1"),
    *("::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1", "2001:db8::1", "::7f00:1", "::808:808"),
    *("fec0::1", "feff::1", "100::1", "100:0:0:1::1", "2001::1", "2001:2::1", "2001:1ff::1", "3fff::1", "5f00::1"),
    *("64:ff9b:1::808:808", "::ffff:0:8.8.8.8", "2620:4f:8000::1", "4000::1", "2002:7f00:1::", "2002:808:808::"),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1"),
]


@pytest.mark.parametrize("address", PRIVATE)
def test_addresses_for_a_special_purpose_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "223.0.0.1"])
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "0.0.0.0"])
def test_addresses_of_this_machine_are_its_own(address: str) -> None:
    assert is_own(address)


@pytest.mark.parametrize("address", ["240.0.0.1", "8.8.8.8", "2606:4700::1111"])
def test_addresses_of_other_machines_are_not_its_own(address: str) -> None:
    assert not is_own(address)


ADDRESSES = ["8.8.8.8", "9.9.9.10", "9.9.9.11", "2606:4700::1111", "::ffff:8.8.8.8"]
FIND_PROGRAM = """
import asyncio
import socket
import threading
from noughts_server.runtime.public_addresses import OWNER_LOOKUPS, LookupsBusy, find_addresses
for host in "8.8.8.8", "9.9.9.10", "9.9.9.11", "[2606:4700::1111]", "[::ffff:8.8.8.8]", "1.1.1.1":
    try:
        print(*asyncio.run(find_addresses(f"http://{host}/", private=False, owner_id=1)))
    except OSError as error:
        print(error)
"""


@pytest.mark.processes
@pytest.mark.parametrize("binds_any", [False, True])
def test_public_addresses_of_this_machine_are_refused(binds_any: bool) -> None:
    with another_host() as host:
        run_checked = partial(subprocess.run, check=True, timeout=60, text=True, capture_output=True)
        at_host = ["ip", "netns", "exec", host.name]
        for address in ("8.8.8.8/32", "9.9.9.10/24", "9.9.9.11/24", "2606:4700::1111/128"):
            run_checked([*at_host, "ip", "addr", "add", address, "dev", "lo"])
        switch = f"for n in 4 6; do echo {int(binds_any)} > /proc/sys/net/ipv$n/ip_nonlocal_bind; done"
        run_checked([*at_host, "sh", "-c", switch])
        *own_addresses, other_address = run_checked([*at_host, sys.executable, "-c", FIND_PROGRAM]).stdout.splitlines()
    expected = [f"{address} is the machine of this server" for address in ADDRESSES]
    # If programs can use any address, a second address in one network is not recognised.
    assert [own_addresses[:2], own_addresses[3:]] == [expected[:2], expected[3:]]
    assert own_addresses[2] == expected[2] or binds_any
    assert other_address == "['1.1.1.1'] 80"


@pytest.mark.parametrize(
    "url, port",
    [
        *(("http://8.8.8.8/", 80), ("https://8.8.8.8/", 443), ("https://8.8.8.8:80/", 80)),
        *(("http://8.8.8.8:1025/", 1025), ("http://8.8.8.8:65535/", 65535)),
    ],
)
async def test_ports_of_the_web_and_above_1024_are_allowed(url: str, port: int) -> None:
    assert await find_addresses(url, private=False, owner_id=1) == (["8.8.8.8"], port)


@pytest.mark.parametrize("port", [0, 1, 22, 25, 53, 110, 445, 1024])
async def test_ports_of_other_services_are_refused_unless_allowed(port: int) -> None:
    with pytest.raises(OSError, match=f"port {port}, expected 80, 443 or above 1024"):
        await find_addresses(f"http://8.8.8.8:{port}/", private=False, owner_id=1)
    assert await find_addresses(f"http://8.8.8.8:{port}/", private=True, owner_id=1) == (["8.8.8.8"], port)


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "0177.0.0.1", "127.1", "localhost", "[::ffff:7f00:1]"])
async def test_other_spellings_of_private_addresses_are_refused(host: str) -> None:
    with pytest.raises(OSError, match="has no public address"):
        await find_addresses(f"http://{host}/", private=False, owner_id=1)


async def test_an_owner_has_four_lookups_that_delay_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    may_answer = threading.Event()

    def look_up(*_: Any, **__: Any) -> list[Any]:
        may_answer.wait(30)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("8.8.8.8", 80))]

    async def find(owner_id: int) -> tuple[list[str], int]:
        return await find_addresses("http://hooks.example/", private=True, owner_id=owner_id)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    async with asyncio.TaskGroup() as tasks:
        find_tasks = [tasks.create_task(find(1)) for _ in range(OWNER_LOOKUPS)]
        await asyncio.sleep(0)
        find_tasks[0].cancel()  # its thread continues
        with pytest.raises(LookupsBusy):
            await find(1)
        find_tasks.append(tasks.create_task(find(2)))
        await asyncio.sleep(0)
        may_answer.set()
    assert [task.result() for task in find_tasks[1:]] == [(["8.8.8.8"], 80)] * OWNER_LOOKUPS
