"""The routes of the server, one module a subject."""
