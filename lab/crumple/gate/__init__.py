"""Conditions of --fail-if, whether they hold, and what a CI platform is told of that. Pure."""
