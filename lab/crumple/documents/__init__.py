"""What the JSON documents of several verbs have in common. Pure."""
