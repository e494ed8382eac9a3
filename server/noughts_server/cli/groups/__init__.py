"""Commands that have commands beneath them, as `tree` hangs them up."""
