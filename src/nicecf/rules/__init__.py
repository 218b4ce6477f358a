"""What may change, and what may be handed out."""
