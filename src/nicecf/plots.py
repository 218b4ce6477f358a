"""Pictures of counterfactuals, drawn with matplotlib: see `nicecf.views.plots`."""

from nicecf.views.plots import Picture, changes, frequencies, pareto, regions, variants, walk

__all__ = ["Picture", "changes", "frequencies", "pareto", "regions", "variants", "walk"]
