"""Where content comes from. Each module handles one kind of origin and turns it into paths or texts to add."""
