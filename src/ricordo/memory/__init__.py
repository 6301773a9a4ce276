"""What agents know and what they use: remembering use after the answer, feedback, and learning from it."""
