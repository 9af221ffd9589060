"""Goals: what a session is to reach, and what an independent judge says of it."""
