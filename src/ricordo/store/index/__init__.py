"""The search index as a part of its own, in a file and on a server: packed postings in segments, and how they score."""
