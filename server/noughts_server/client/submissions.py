"""Submissions of bots as files: the kind of a file, and the requests that upload it."""

import hashlib
from collections.abc import Callable, Iterator

from noughts_proto.v1 import bots_pb2 as pb

TRIAL_SECONDS = 240.0
"""Seconds that the upload and the trial after it can take together."""
_CHUNK_BYTES = 64 * 1024
_WASM_MAGIC = b"\0asm"
_ZIP_MAGIC = b"PK\x03\x04"


def file_kind(name: str, content: bytes) -> str | None:
    """Return the kind of the bot in a file: `wasm`, or `py` for a Python file or a zip archive; None for others."""
    if content.startswith(_WASM_MAGIC):
        return "wasm"
    return "py" if name.endswith(".py") or content.startswith(_ZIP_MAGIC) else None


def submission_requests(
    submission: pb.Submission, content: bytes, on_progress: Callable[[int], None] = lambda done: None
) -> Iterator[pb.SubmitBotRequest]:
    """Yield the requests that submit a file. After each chunk, call `on_progress` with the bytes yielded so far."""
    submission.size = len(content)
    submission.sha256 = hashlib.sha256(content).digest()
    yield pb.SubmitBotRequest(submission=submission)
    for start in range(0, len(content), _CHUNK_BYTES):
        yield pb.SubmitBotRequest(chunk=content[start : start + _CHUNK_BYTES])
        on_progress(min(start + _CHUNK_BYTES, len(content)))
