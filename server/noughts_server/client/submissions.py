"""Bots that are submitted as files."""

import hashlib
from collections.abc import Callable, Iterator

from noughts_proto.v1 import bots_pb2 as pb

TRIAL_SECONDS = 240.0
"""Seconds that the upload and the trial after it can take together."""
_PIECE = 64 * 1024
_WASM, _ZIP = b"\0asm", b"PK\x03\x04"


def file_kind(name: str, content: bytes) -> str | None:
    """Return the kind of a bot, `wasm` or `py`, judged by its file; None if it is neither."""
    if content.startswith(_WASM):
        return "wasm"
    return "py" if name.endswith(".py") or content.startswith(_ZIP) else None


def submission_requests(
    submission: pb.Submission, content: bytes, sent: Callable[[int], None] = lambda done: None
) -> Iterator[pb.SubmitBotRequest]:
    """Yield the requests that submit a file; `sent` is called with the number of bytes that were yielded."""
    submission.size = len(content)
    submission.sha256 = hashlib.sha256(content).digest()
    yield pb.SubmitBotRequest(submission=submission)
    for start in range(0, len(content), _PIECE):
        yield pb.SubmitBotRequest(chunk=content[start : start + _PIECE])
        sent(min(start + _PIECE, len(content)))
