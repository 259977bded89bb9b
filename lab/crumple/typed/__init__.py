"""What was typed elsewhere → flags of crumple's own: a command of curl, of another tool, or a saved one.

Commands that are shown or stored lose their secrets here. Nothing of a command is executed.
"""
