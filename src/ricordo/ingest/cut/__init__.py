"""Cuts texts into passages: by their structure, or where a language model says."""
