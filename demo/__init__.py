"""`python -m demo`: Roost repairs a small broken repository while you watch."""
