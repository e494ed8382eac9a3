"""Splitting of bus messages into parts, and joining them."""

import pytest

from noughts_server.cluster.message_parts import HEADER, MessageParts, parts_of

DATA = bytes(range(256)) * 40


def parts_with_headers(sender: str, serial: int = 1) -> list[tuple[str, bytes]]:
    """Return the parts of DATA as this sender sends them: the header and the bytes of each."""
    return [(headers[HEADER], part) for part, headers in parts_of(DATA, sender, serial, 1_000)]


def test_parts_of_several_senders_are_joined_for_each() -> None:
    message_parts = MessageParts()
    messages = [
        message_parts.join(*part)
        for pair in zip(parts_with_headers("a"), parts_with_headers("b"), strict=True)
        for part in pair
    ]
    assert [message for message in messages if message is not None] == [DATA, DATA]


def test_message_with_a_lost_part_is_dropped_and_the_next_one_arrives() -> None:
    message_parts = MessageParts()
    one, _, three, *_ = parts_with_headers("a")
    assert message_parts.join(*one) is None
    with pytest.raises(ValueError, match="does not follow"):
        message_parts.join(*three)
    assert [message_parts.join(*part) for part in parts_with_headers("a", 2)][-1] == DATA


@pytest.mark.parametrize("header", ["", "a 1 0", "a 1 x 2", "a 1 3 4", "a 1 -1 2"])
def test_invalid_part_is_an_error(header: str) -> None:
    with pytest.raises(ValueError, match=r"unpack|literal|follow"):
        MessageParts().join(header, b"")


def test_parts_of_incomplete_messages_are_limited() -> None:
    message_parts = MessageParts()
    for index in range(64):
        assert message_parts.join(f"a 1 {index} 1000", bytes(1 << 20)) is None
    with pytest.raises(ValueError, match="more than"):
        message_parts.join("a 1 64 1000", b"x")
    assert [message_parts.join(*part) for part in parts_with_headers("b")][-1] == DATA


def test_parts_of_a_dead_sender_do_not_stop_the_messages_of_others() -> None:
    message_parts = MessageParts()
    for index in range(64):
        assert message_parts.join(f"dead 1 {index} 1000", bytes(1 << 20)) is None
    for serial in (1, 2):
        assert [message_parts.join(*part) for part in parts_with_headers("a", serial)][-1] == DATA


def test_empty_part_is_an_error() -> None:
    message_parts = MessageParts()
    with pytest.raises(ValueError, match="empty"):
        message_parts.join("a 1 0 1000000", b"")
