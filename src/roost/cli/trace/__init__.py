"""`roost trace`: one turn as a timeline, from its rows alone, while it runs and for ever after."""
