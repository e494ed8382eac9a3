"""Monitoring of a server: counters, metrics for Prometheus, the event log."""
