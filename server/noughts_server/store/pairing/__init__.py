"""Stored pairings: rows of pairings, rounds and ladders."""
