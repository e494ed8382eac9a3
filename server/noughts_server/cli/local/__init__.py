"""Commands on this machine: `match`, `tournament run`, `demo`, `play`, `variants`."""
