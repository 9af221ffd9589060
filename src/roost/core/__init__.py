"""The ground floor: ids, clock, errors, text made safe, failpoints. Imports nothing of Roost."""
