"""Tournaments: settings, entries, states, and the claims of their units."""
