"""Where the log lives: SQLite in a file, or PostgreSQL."""
