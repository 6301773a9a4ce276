"""What an export holds, and how it is written and read back."""
