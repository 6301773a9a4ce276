"""The keys of encrypted stores: how one is made, kept and found again, and what is sealed with it besides the store."""
