"""The report of a bot's search as a message of the protocol."""

from noughts_proto.v1 import types_pb2
from noughts_referee.rules import OFF_BOARD, Thought
from noughts_referee.rules.thoughts import LARGEST_DEPTH, LARGEST_NODES, LONGEST_US


def thought_message(thought: Thought) -> types_pb2.Thought:
    """Return a thought as a message, with numbers that it can hold."""
    return types_pb2.Thought(
        depth=min(max(thought.depth, 0), LARGEST_DEPTH),
        nodes=min(max(thought.nodes, 0), LARGEST_NODES),
        time_us=min(max(thought.time_us, 0), LONGEST_US),
        pv=[cell if 0 <= cell < OFF_BOARD else OFF_BOARD for cell in thought.pv],
    )
