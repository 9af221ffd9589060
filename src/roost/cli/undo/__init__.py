"""`roost undo` and `roost redo`: the end of a session is taken back, and brought back."""
