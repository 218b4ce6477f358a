"""Small things without a subject of their own: option checks, files, progress, number formats, phrases."""
