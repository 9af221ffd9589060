"""`roost memory` and `roost history`."""
