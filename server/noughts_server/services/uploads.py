"""The upload of a bot: the first message describes the file, the others carry its bytes."""

import asyncio
from collections.abc import AsyncIterator

from noughts_proto.v1 import bots_pb2 as pb
from noughts_server.core.errors import InvalidArgument, LimitReached
from noughts_server.core.limits import Limits
from noughts_server.services.interceptor import REQUEST_SECONDS
from noughts_server.store.people.submissions import Upload
from noughts_server.store.validation import check_name, check_text

UPLOAD_SECONDS = 120.0
"""Time limit of the whole upload."""
# Characters of the fields.
_LONGEST_ENTRY = 400
_LONGEST_FILE_NAME = 200
_LONGEST_KIND = 16


async def read_announcement(requests: AsyncIterator[pb.SubmitBotRequest], limits: Limits) -> pb.Submission:
    """Read the first message, and return its description of the file. Raises InvalidArgument, LimitReached."""
    try:
        async with asyncio.timeout(REQUEST_SECONDS):
            first = await anext(requests, None)
    except TimeoutError:
        raise InvalidArgument.of("submission", "nothing", f"a first message within {REQUEST_SECONDS:.0f} s") from None
    if first is None or not first.HasField("submission"):
        raise InvalidArgument.of("submission", "none", "the submission, in the first message")
    submission = first.submission
    check_name("submission.bot", submission.bot)
    if submission.version:
        check_name("submission.version", submission.version)
    check_text("submission.kind", submission.kind, _LONGEST_KIND)
    check_text("submission.entry", submission.entry, _LONGEST_ENTRY)
    check_text("submission.file_name", submission.file_name, _LONGEST_FILE_NAME)
    if not submission.size:
        raise InvalidArgument.of("submission.size", 0, "the bytes of the file, at least one")
    got, most = submission.size, limits.submission_bytes
    if got > most:
        raise LimitReached("submission_bytes", "bytes of a submitted bot", got=got, limit=most, retry_seconds=60.0)
    return submission


async def read_upload(requests: AsyncIterator[pb.SubmitBotRequest], submission: pb.Submission) -> Upload:
    """Read the file from the other messages, and check it against its description. Raises InvalidArgument."""
    content = bytearray()
    try:
        async with asyncio.timeout(UPLOAD_SECONDS):
            async for request in requests:
                if request.WhichOneof("part") != "chunk":
                    raise InvalidArgument.of("chunk", "no bytes", "part of the file in each message except the first")
                content += request.chunk
                if len(content) > submission.size:
                    break
    except TimeoutError:
        expected = f"the whole file within {UPLOAD_SECONDS:.0f} s"
        raise InvalidArgument.of("chunk", f"{len(content):,} bytes", expected) from None
    if len(content) != submission.size:
        got = f"{len(content):,} bytes" if len(content) < submission.size else "more bytes than were announced"
        hint = "Submit it again: the upload was cut off, or the file changed in the meantime."
        raise InvalidArgument.of("chunk", got, f"the {submission.size:,} bytes that were announced", hint=hint)
    upload = Upload(
        bot=submission.bot,
        version=submission.version,
        kind=submission.kind,
        entry=submission.entry,
        file_name=submission.file_name,
        content=bytes(content),
    )
    if submission.sha256 and submission.sha256 != upload.hash:
        hint = "Submit it again: the upload was damaged in transit."
        raise InvalidArgument.of("submission.sha256", "a different hash", "the hash of the file", hint=hint)
    return upload
