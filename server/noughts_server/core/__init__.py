"""What every other package of the server can use: errors, limits, names of resources, and texts of others."""
