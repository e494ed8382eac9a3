"""The store: the only place that knows SQL.

Its functions take a connection and run inside `Store.read`, or `Store.write` if they change anything.
"""
