"""`roost actors`: who is at work, as a tree, and how to stop one."""
