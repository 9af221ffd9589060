"""Actors and their turns: who owns whom under which fence, from waking to idle."""
