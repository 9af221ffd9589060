"""Sessions, messages and parts: what they are, how they are stored, mended and moved."""
