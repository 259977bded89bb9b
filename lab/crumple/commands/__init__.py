"""The commands: one module per command, and how each ends. `cli` defines their flags and help."""
