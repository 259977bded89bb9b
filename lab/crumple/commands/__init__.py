"""What each command of the command line does, a module each; `cli` holds their flags and help."""
