"""What results tell about strength: estimates of a match, the SPRT, batch ratings. Pure: no database, no clock."""
