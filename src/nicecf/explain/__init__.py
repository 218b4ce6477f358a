"""The six stages of ``explain``, what ``fit`` learns, saving and loading."""
