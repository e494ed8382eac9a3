"""Calls to a server: its services, deadlines, pages of lists, and what a failed call means.

The command line uses `Client`, whose calls block; the website awaits its calls (`web/upstream.py`).
"""
