"""What was found: the batch, `Counterfactuals`, metrics, records."""
