"""Calls to a server: its services, deadlines, pages of lists, and what a failed call means.

The command line uses `Client`, which blocks; the website uses `AsyncClient`. Both raise `CallFailed`.
"""
