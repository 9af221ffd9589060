"""What a model can do: one file a tool, its description in Markdown beside it."""
