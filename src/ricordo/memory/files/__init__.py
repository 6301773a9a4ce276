"""Memories as Markdown files, both ways."""
