"""`roost run`: one prompt without a person who answers, shown as text or as JSON lines."""
