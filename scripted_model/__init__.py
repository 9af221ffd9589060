"""A real HTTP server that plays a scripted model in three API dialects and rejects bad requests."""
