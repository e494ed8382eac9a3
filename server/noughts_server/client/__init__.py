"""Calls to a server: its services, deadlines, pages of lists, and the meaning of failed calls.

The command line uses `Client`, whose calls block; the website awaits its calls (`web/upstream.py`).
"""
