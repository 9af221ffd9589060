"""What programs and plugins of the user are told of an actor's work, and what they may answer."""
