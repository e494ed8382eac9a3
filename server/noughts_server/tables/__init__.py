"""Tables of a tournament's games: standings, crosstable, sides, terminations, openings, move times. Pure."""
