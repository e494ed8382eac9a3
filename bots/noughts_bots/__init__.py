"""Bots: the SDK for authors, the reference bots and the hosts that run plugins."""
