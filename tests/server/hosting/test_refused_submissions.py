"""Submissions that the server refuses: without permission, over a limit, or with a file that is not a bot."""

import io
import re
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

from noughts_proto.v1 import bots_pb2 as pb
from noughts_server.core.limits import Limits
from tests.server.hosting.submitting import (
    ALL_SCOPES,
    BOT_TEMPLATE,
    FIRST_CELL_BOT,
    RANDOM_BOT,
    hosting,
    stored_counts,
    submit,
)
from tests.support.client import Client, bearer, refusal_of


@pytest.mark.parametrize(
    "scopes, reason",
    [(("play", "organise"), "SCOPE_MISSING"), (("play:mine",), "SCOPE_MISSING"), ((), "UNAUTHENTICATED")],
)
async def test_without_the_scope_submissions_are_refused(client: Client, scopes: tuple[str, ...], reason: str) -> None:
    token = await client.token("alice", *scopes) if scopes else "nou_nobody"
    assert (await refusal_of(submit(client, token, "mine", RANDOM_BOT))).info.reason == reason
    assert await stored_counts(client) == (0, 0, 0)


async def test_a_file_that_is_not_a_bot_is_refused_and_not_stored(client: Client) -> None:
    token = await client.token("alice", *ALL_SCOPES)
    for content, kind, fields, complaint in (
        ("x", "py", {"size": 64 << 20}, "bytes of a submitted bot"),
        (RANDOM_BOT, "py", {"size": len(RANDOM_BOT) + 5}, "bytes that were announced"),
        (RANDOM_BOT, "py", {"size": len(RANDOM_BOT) - 5}, "more bytes than were announced"),
        (RANDOM_BOT, "py", {"sha256": bytes(32)}, "a different hash"),
        (RANDOM_BOT, "dll", {}, "one that accepts bots of kind 'dll'"),
        (RANDOM_BOT, "py", {"bot": "no name!"}, "submission.bot"),
        (RANDOM_BOT, "py", {"variant": "chess"}, "submission.variant"),
        ("import socket\n" + RANDOM_BOT, "py", {}, "socket at bot.py:1"),
        (b"\0asm\1\0\0\0", "wasm", {}, "no export 'noughts_bot'"),
    ):
        refusal = await refusal_of(submit(client, token, "mine", content, kind, **fields))
        assert complaint in refusal.trailing, refusal
    # A stream without messages, and one whose first message is a chunk.
    for requests in ([], [pb.SubmitBotRequest(chunk=b"x")]):
        refusal = await refusal_of(client.bots.SubmitBot(iter(requests), metadata=bearer(token)))
        assert "in the first message" in refusal.trailing
    assert await stored_counts(client) == (0, 0, 0)


@pytest.mark.parametrize(
    "program",
    [
        BOT_TEMPLATE.format("raise ValueError(__file__)"),
        BOT_TEMPLATE.format("import os, sys; print(__file__, os.getcwd(), sys.path, file=sys.stderr); os._exit(3)"),
        "raise RuntimeError\n" + FIRST_CELL_BOT,
        "open('/etc/passwd')\n" + FIRST_CELL_BOT,
    ],
)
async def test_refusals_contain_no_paths_of_the_server(client: Client, program: str) -> None:
    token = await client.token("alice", *ALL_SCOPES)
    refusal = await refusal_of(submit(client, token, "mine", program))
    assert "bot.py" in refusal.trailing
    for path in (tempfile.gettempdir(), sys.prefix, sys.base_prefix, *filter(None, sys.path)):
        assert not re.search(rf"{re.escape(path)}(?![\w.-])", refusal.trailing), refusal.trailing


async def test_limits_of_an_owner_are_enforced(tmp_path: Path) -> None:
    limits = Limits(submissions=4, submitted_bytes=4 * len(RANDOM_BOT) + 60, bots=2)
    async with hosting(tmp_path, limits=limits) as (client, _):
        token, other = await client.token("alice", *ALL_SCOPES), await client.token("bob", *ALL_SCOPES)
        await submit(client, token, "one", RANDOM_BOT)
        refusal = await refusal_of(submit(client, token, "one", RANDOM_BOT + "#" * 2 * len(RANDOM_BOT) + "#" * 100))
        assert "bytes of your submitted bots" in refusal.trailing
        await submit(client, token, "two", RANDOM_BOT + "# 2")
        assert "bots of yours" in (await refusal_of(submit(client, token, "three", RANDOM_BOT + "# 3"))).trailing
        assert "permission" in (await refusal_of(submit(client, other, "one", RANDOM_BOT))).trailing.lower()
        await submit(client, token, "two", RANDOM_BOT + "# 4")
        assert "within an hour" in (await refusal_of(submit(client, token, "two", RANDOM_BOT + "# 5"))).trailing
        assert await stored_counts(client) == (2, 3, 3)


async def test_a_bomb_of_source_does_not_grow_the_server(client: Client) -> None:
    token = await client.token("alice", *ALL_SCOPES)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bot.py", RANDOM_BOT + "bomb = (" + "0," * (1 << 20) + ")\n")
    assert len(packed.getvalue()) < 10_000
    before = memory_peak_from_now()
    assert "at most 262,144 per file" in (await refusal_of(submit(client, token, "bomb", packed.getvalue()))).trailing
    assert memory_peak() - before < 100 << 20


def memory_peak_from_now() -> int:
    """Reset the peak of this process's memory, and return its memory now, in bytes."""
    Path("/proc/self/clear_refs").write_text("5")
    return memory_peak()


def memory_peak() -> int:
    """Return the peak of this process's memory since the last reset, in bytes."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) << 10


async def test_source_that_cannot_be_parsed_within_limits_is_refused(client: Client) -> None:
    token = await client.token("alice", *ALL_SCOPES)
    refusal = await refusal_of(submit(client, token, "deep", RANDOM_BOT + "x = " + "-" * 200_000 + "1\n"))
    assert "one that can be read in 10 s of processor time and 512 MiB of memory" in refusal.trailing
