"""The commands: one module per command. `cli` defines their flags and help."""
