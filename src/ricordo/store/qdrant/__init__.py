"""Qdrant, a search engine beside the server of a store: in this process, or a cluster over the network."""
