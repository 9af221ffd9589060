"""The log: how its lines look, the file that all processes share, and reading it."""
