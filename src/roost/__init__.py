"""Roost: a terminal coding agent with many actors in one session and a durable inbox between them."""

__version__ = "0.1.0"
