"""Pure arithmetic: who plays whom, and what results say about strength."""
