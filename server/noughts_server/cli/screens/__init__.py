"""What redraws itself on the terminal."""
