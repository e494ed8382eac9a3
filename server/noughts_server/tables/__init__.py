"""What the games of a tournament add up to: standings, crosstable, sides, terminations, openings, move times. Pure."""
