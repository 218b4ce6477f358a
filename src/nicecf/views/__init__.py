"""Results for people: words, pictures, notebooks, reports, summaries."""
