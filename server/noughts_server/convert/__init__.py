"""Conversions between the store's values and the protocol's messages: one function for each message.

Each function writes out every field by keyword, so that mypy and a search for a field find it.
"""
