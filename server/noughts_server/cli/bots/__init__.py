"""`noughts bot ...`: local bots and those registered on a server; also `head-to-head` and `rating-lists`."""
