"""The longest time that a test waits for an expected event."""

PATIENCE = 90.0
"""Seconds after which a test that waits for something has failed: machines of tests can be loaded."""
