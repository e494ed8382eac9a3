"""A plugin that takes the lowest free cell, and has a bad habit: `py{habit=...,ground=...}:plugin.py:Misbehaving`.

See habits.py for both options.
"""

import os
import threading
from typing import Any

import habits  # type: ignore[import-not-found]  # it lies next to this program

from noughts_bots import Bot, Position, Resign


class Misbehaving(Bot):
    def __init__(self, habit: str = "honest", ground: str = "") -> None:
        self.habit = habit
        self.ground = ground
        habits.begin(habit)

    def choose(self, position: Position) -> Any:
        if position.ply // 2 == 1:
            try:
                habits.misbehave(self.habit, self.ground)
            except habits.Allowed as error:
                raise Resign from error
            match self.habit:
                case "raise":
                    raise RuntimeError("lost my way")
                case "no answer":
                    return "the centre"
                case "off the board":
                    return 1_000_000
                case "occupied":
                    return position.moves[0]
                case "leave after a move":
                    threading.Timer(0.001, os._exit, [0]).start()
        elif position.ply // 2 > 1 and self.habit == "leave after a move":
            habits.wait_for_ever()  # it is about to end
        return position.free[0]

    def close(self) -> None:
        if self.habit == "ignores the end":
            habits.wait_for_ever()
