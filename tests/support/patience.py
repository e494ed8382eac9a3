"""How long tests wait for something that should happen."""

PATIENCE = 90.0
"""Seconds after which a test that waits for something has failed: machines of tests can be loaded."""
