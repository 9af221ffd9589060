"""`roost completion`: scripts for shells, made of the commands' own parsers."""
