"""The letters of the version that others are compared with, and of its twin."""

FIRST, TWIN = "A", "A′"
