"""The command line: parsing, and one module or package a command."""
