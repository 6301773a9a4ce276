"""Where it is kept: the protocols of a store and its implementations, one folder each."""
