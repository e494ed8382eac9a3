"""Names of bots, versions, owners and entries."""

import re

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9\-_.:=,#+]{0,62}")
"""The whole of a valid name."""
