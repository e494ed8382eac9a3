"""The boards of a bot's running games."""
