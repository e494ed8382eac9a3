"""Games: how they are stored and found, and what is counted of them."""
