"""The project's files and programs: paths, edits, search, shell, git, web pages. Knows no model."""
