"""Databases: their schema, dialects, transactions, migrations and copies."""
