"""`level`: a bot that plays four games at a chosen strength, and the table of its levels."""
