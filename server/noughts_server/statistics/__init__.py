"""Strength estimated from results: match estimates, the SPRT, batch ratings. Pure: no database, no clock."""
