"""What experiments and demonstrations run on."""
