"""What an agent is told: the right few hundred tokens for a task, skills, what happened lately."""
