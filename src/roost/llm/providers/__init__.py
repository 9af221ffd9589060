"""Dialects: how a request becomes the bytes of one API, and its stream becomes events."""
