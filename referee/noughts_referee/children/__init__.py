"""Players that the referee starts itself: a process each, frames on its pipes, verdicts as everywhere."""
