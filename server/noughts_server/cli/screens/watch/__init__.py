"""Watch games in a terminal: those of a feed, and those of a file."""
