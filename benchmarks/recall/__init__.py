"""What a long session still knows: facts are planted, and looked for after it was shortened."""
