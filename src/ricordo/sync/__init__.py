"""Sync between the machines of one person, through a folder that some other program copies."""
