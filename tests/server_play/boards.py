"""Boards with gravity and with layers."""

from noughts_referee.rules import Variant, parse_variant


class Falling(Variant):
    """Stones fall: only the lowest free cell of each column can be played."""

    def free_cells(self, occupied: int) -> tuple[int, ...]:
        free = super().free_cells(occupied)
        return tuple(sorted({cell % self.columns: cell for cell in free}.values()))


def falling(columns: int, rows: int) -> Variant:
    """A board of this size on which three in a row win and stones fall."""
    return Falling("falling", columns, rows, parse_variant(f"mnk:{columns},{rows},3").lines)


def layered(edge: int) -> Variant:
    """A cube, without lines."""
    cube = Variant("layered", edge, edge * edge, ())
    object.__setattr__(cube, "rows", edge)
    return cube
