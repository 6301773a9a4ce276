"""What an agent is given: a few hundred tokens that fit its task, skills, and recent events."""
