"""Search over the rows of a store, the same for both databases: candidates by words and vectors, and pages."""
