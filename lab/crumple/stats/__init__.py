"""Statistics on plain numbers: intervals, noise, knees, looks. Pure; imports no trial, server or claim."""
