"""Any model -> probabilities and decisions."""
