"""Exact values of Connect Four and other games of four in a row with gravity."""
