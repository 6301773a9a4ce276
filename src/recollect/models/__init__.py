"""What computes: the model inside the package and, later, the providers beside it. ``base`` has the protocols."""
