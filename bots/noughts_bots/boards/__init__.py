"""The boards of the games that a bot plays at present."""
