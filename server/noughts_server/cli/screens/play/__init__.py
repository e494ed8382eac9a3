"""Play in a terminal: the state of a match, the screen, and the opponents."""
