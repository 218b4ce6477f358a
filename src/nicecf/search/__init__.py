"""From a row to its counterfactual: donors, distances, objectives, the greedy and the thorough search."""
