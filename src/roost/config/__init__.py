"""Configuration: what users may set, where it is read from, and what is trusted."""
