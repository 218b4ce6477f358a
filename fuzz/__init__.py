"""Random tables, models, options and rules, and checks of every answer that share no code with the library."""
