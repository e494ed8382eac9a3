"""`noughts bot ...`: bots of this machine, and those registered at a server; `head-to-head`, `rating-lists`."""
