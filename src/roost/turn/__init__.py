"""The loop: take in mail, decide, call the model, run its tools, store, decide again."""
