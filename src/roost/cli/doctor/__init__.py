"""`roost doctor`: looks at everything Roost stands on, and says how to mend what is wrong."""
