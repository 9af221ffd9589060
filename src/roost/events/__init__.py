"""What clients see: events of committed transactions, and the bus that carries them."""
