"""`roost skills`: advice that can be loaded, where it lies, and what is wrong with it."""
