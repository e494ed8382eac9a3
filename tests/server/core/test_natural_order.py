"""The order of names for people."""

import random

from noughts_server.core.natural_order import natural_key


def test_numbers_in_names_are_compared_as_numbers() -> None:
    names = ["10", "b", "b1", "b1.9", "b1.10", "b2", "b2-x1", "b2-x12", "b010", "b10", "b" + "9" * 5000, "c"]
    shuffled = random.Random(1).sample(names, len(names))
    assert sorted(shuffled, key=natural_key) == names
