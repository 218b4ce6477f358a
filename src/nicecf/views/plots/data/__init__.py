"""Results -> plain numbers and strings: what the pictures show, one file for each. Nothing here knows how to draw."""
