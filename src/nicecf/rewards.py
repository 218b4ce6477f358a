"""What the greedy search may be asked to maximise: see `nicecf.search.objectives`."""

from nicecf.search.objectives import BY_NAME, Objective, Reward, Round, plausibility, proximity, sparsity

__all__ = ["BY_NAME", "Objective", "Reward", "Round", "plausibility", "proximity", "sparsity"]
