"""Secrets in texts: found by rules, and taken out. Pure: it uses nothing of the rest but the kinds of items."""
