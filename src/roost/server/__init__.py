"""The HTTP server: OpenCode's wire over a runtime, behind a secret."""
