"""Pictures in a terminal: boards, crosstables, standings, charts, heat maps."""
