"""Conditions of --fail-if, whether they hold, and what a CI platform learns of that. Pure."""
