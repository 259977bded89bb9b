"""The commands: their tables, with flags and help by subject, and one module per command with its work."""
