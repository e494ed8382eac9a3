"""Games on this machine: options, plans, playing, faults and results."""
