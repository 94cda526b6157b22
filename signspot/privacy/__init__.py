"""What is kept of people, and how it is removed."""
