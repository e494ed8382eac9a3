"""Version 1 of the protocol: the .proto files and the stubs generated from them."""
