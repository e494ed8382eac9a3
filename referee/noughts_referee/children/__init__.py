"""Players that the referee starts itself: a process each, frames on its pipes or its stream, verdicts as everywhere."""
