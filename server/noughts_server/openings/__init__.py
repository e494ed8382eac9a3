"""The openings of games: random, balanced by a search, or read from files. Pure: no clock."""
