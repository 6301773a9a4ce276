"""What other programs keep, as texts to save: vaults, notes, memories, graphs and conversations."""
