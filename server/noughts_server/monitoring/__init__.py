"""What a server counts, and whom it tells: counters, metrics for Prometheus, the log of events."""
