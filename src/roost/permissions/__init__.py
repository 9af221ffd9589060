"""What an actor may do: rules, what a command really does, and asking the person."""
