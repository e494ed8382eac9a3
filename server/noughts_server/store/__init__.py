"""The store is the only package that knows SQL.

Its functions take a connection and run inside `Store.read`, or inside `Store.write` if they change anything.
"""
