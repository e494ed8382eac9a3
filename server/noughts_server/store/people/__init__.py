"""Bots, submitted programs and tokens."""
