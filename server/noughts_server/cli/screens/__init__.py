"""Pictures on a terminal that redraw themselves."""
