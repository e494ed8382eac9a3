"""Commands for whoever runs a server: `serve`, `status`, `health`, `token`, `ratings`."""
