"""What is kept for later: files of memory, and the index that finds passages in them and in what
was said."""
