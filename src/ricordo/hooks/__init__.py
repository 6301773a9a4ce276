"""What hooks of agents' programs answer. The verb ``hook`` and a route of the server only call it."""
