"""The composition root: puts the floors together and runs the actors of this process."""
