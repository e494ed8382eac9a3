"""Tests. A package, because a library installs another one of this name."""
