"""The schema of version 1.0.0, the first release. No migration leads to it: version 1.0.0 made these tables."""

revision = "0014"
down_revision = None
