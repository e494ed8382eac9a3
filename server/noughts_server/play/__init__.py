"""People at the board: the state of a match, what it looks like in a terminal, and who sits at the other side."""
