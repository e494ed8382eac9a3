"""Tournaments: their settings, entries and states, and which of their units is claimed by whom."""
