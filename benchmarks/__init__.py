"""Measures what the design promises, beside what users would pick instead."""
