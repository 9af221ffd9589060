"""The task list of a session: a tree of small promises with checked transitions."""
