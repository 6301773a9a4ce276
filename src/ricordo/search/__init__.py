"""How a query becomes hits: parse, filter, find by word and meaning, fuse, explain, present."""
