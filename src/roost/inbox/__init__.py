"""The one way in: everything an actor hears is a row here before it is a message."""
