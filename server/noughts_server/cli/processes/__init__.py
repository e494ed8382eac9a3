"""Commands that run until they are stopped: signals, and servers in this process."""
