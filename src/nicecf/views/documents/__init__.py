"""Documents for people: what they are made of, and the formats they are written in."""
