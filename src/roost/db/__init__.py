"""SQLite behind one writer thread and a few readers: transactions, migrations, clear errors."""
