"""Tools of other MCP servers: where programs name them, how each becomes an item, and how one is called safely."""
