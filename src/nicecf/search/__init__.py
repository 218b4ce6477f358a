"""Ways from a row to its donor."""
