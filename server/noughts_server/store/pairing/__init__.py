"""Who meets whom: rows of pairings, of rounds and of ladders."""
