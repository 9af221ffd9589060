"""`roost requests`: what actors ask a person, whichever process runs them, and answering it."""
