"""`roost sessions`: list, show, export, import, delete."""
