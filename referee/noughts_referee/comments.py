"""The bots' comments on the moves of a game, by ply, as they are stored: compressed JSON."""

import json
import zlib
from collections.abc import Mapping


def pack_comments(comments: Mapping[int, str]) -> bytes | None:
    return zlib.compress(json.dumps(comments, separators=(",", ":")).encode()) if comments else None


def unpack_comments(packed: bytes | None) -> dict[int, str]:
    found = json.loads(zlib.decompress(packed)) if packed else {}
    return {int(ply): text for ply, text in found.items()}
