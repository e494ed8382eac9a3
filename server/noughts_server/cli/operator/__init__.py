"""Commands for the operator of a server: `serve`, `status`, `health`, `token`, `ratings`."""
