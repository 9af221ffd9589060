"""`roost agents`: what an actor can run as, where that is defined, and what it may do."""
