"""iCalendar files (RFC 5545): escaped text, and folded lines."""

_MOST_OCTETS = 75
"""The longest line of a calendar file, without its end (RFC 5545)."""
_ESCAPES = {"\\": "\\\\", ";": "\\;", ",": "\\,", "\n": "\\n"}
_ESCAPE_TABLE = str.maketrans({**{chr(code): " " for code in (*range(32), 127)}, **_ESCAPES})


def calendar_text(value: str) -> str:
    """Return a text as the value of a property: escaped, with spaces in place of control characters."""
    return value.translate(_ESCAPE_TABLE)


def calendar_file(text: str) -> bytes:
    """Return the file with these lines, folded between characters so that no line has more than 75 octets."""
    content = ""
    for line in filter(None, text.split("\n")):
        octets = 0
        for character in line:
            octets += len(character.encode())
            if octets > _MOST_OCTETS:
                content += "\r\n "
                octets = 1 + len(character.encode())
            content += character
        content += "\r\n"
    return content.encode()
