"""Everything on this machine: tournaments in this process, their children, and bots carried to a server elsewhere."""
