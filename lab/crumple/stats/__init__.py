"""Numbers → estimates with their intervals, bends and laws. Pure; no trial, server or claim is known here."""
