"""Settings, schedules, units of work and Elo, as pure functions: no database, no clock."""
