"""Sentences and charts that the reports of several verbs share, and how secrets in them are masked. Pure."""
