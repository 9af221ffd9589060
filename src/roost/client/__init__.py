"""A typed client of the server, over TCP or a Unix socket."""
