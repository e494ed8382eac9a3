"""People at the board: the state of a table, what it looks like in a terminal, and who sits at it."""
