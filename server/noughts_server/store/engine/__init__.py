"""Databases: schema, dialects, transactions, migrations and copies."""
