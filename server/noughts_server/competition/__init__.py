"""What is played and how it counts: settings, schedules, units of work, Elo. Pure: no database, no clock."""
