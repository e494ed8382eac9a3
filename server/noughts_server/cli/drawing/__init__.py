"""What is shown in a terminal: boards, crosstables, standings, charts, heat maps, progress, a match's result."""
