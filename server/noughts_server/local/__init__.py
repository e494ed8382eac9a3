"""On this machine: tournaments, their children, children that are asked or checked, bots carried to other servers."""
