"""iCalendar files (RFC 5545): escaped text, and folded lines."""

_MOST_OCTETS = 75
_ESCAPES = {"\\": "\\\\", ";": "\\;", ",": "\\,", "\n": "\\n"}
_ESCAPED = str.maketrans({**{chr(code): " " for code in (*range(32), 127)}, **_ESCAPES})


def calendar_text(value: str) -> str:
    """Return a text as the value of a property."""
    return value.translate(_ESCAPED)


def calendar_file(text: str) -> bytes:
    """Return the file of these lines, folded between characters so that no line has more than 75 octets."""
    folded = ""
    for line in filter(None, text.split("\n")):
        octets = 0
        for character in line:
            octets += len(character.encode())
            if octets > _MOST_OCTETS:
                folded += "\r\n "
                octets = 1 + len(character.encode())
            folded += character
        folded += "\r\n"
    return folded.encode()
