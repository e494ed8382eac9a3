"""Files of games: a module for each format."""
