"""The headings under which the help lists commands."""

HERE = "On this machine"
AT_A_SERVER = "At a server"
BOTS = "Bots"
SERVER = "Server"
