"""What a model is shown: system prompt, instructions, and a slice as messages of a request."""
