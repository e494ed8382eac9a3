"""The store: the only place that knows SQL. Functions take a connection and run inside `Store.read` or `Store.write`."""
