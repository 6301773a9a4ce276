"""What the servers of the faces share: an open store, threads, a port, and how others of this user reach a server."""
