"""`roost inbox`: what was said to actors; saying something, and taking it back."""
