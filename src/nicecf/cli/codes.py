"""Exit codes: what a shell script may rely on."""

# Done; failed, or done in part only; asked for wrongly.
DONE, FAILED, MISUSED = 0, 1, 2
# Done, but some rows have no counterfactual, or a replay differs.
INCOMPLETE = 3
# Stopped by Ctrl-C, as shells count it.
INTERRUPTED = 130
