"""Conversions between the store's values and the protocol's messages, and resource names."""
