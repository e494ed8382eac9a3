"""`noughts bot ...`: local bots and those registered at a server; also `head-to-head` and `rating-lists`."""
