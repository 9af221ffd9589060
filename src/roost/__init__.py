"""Roost: a terminal coding agent. Many actors in one session, a durable inbox between them."""

__version__ = "0.1.0"
