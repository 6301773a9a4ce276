"""Where content comes from: each module knows one kind of origin and turns it into paths or texts to take in."""
