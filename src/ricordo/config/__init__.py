"""What can be set, and what is in force."""
