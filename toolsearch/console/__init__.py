"""What the command line shows, and what it measures to show it."""
