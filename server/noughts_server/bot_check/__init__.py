"""The checks of `noughts bot check`, and of a submitted bot's trial."""
