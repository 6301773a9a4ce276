"""Measures how well a profile ranks, on judged sets of queries, and whether a difference is more than chance."""
