"""What other programs keep, as texts to save: Obsidian's vaults, basic-memory's notes, mem0's memories."""
