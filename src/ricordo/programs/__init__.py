"""The programs in which agents run: where each keeps what, and how our servers, hooks and skill are put there."""
