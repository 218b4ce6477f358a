"""Exit codes: what a shell script may rely on."""

# Done; failed, or only partly done; usage error.
DONE, FAILED, MISUSED = 0, 1, 2
# Done, but some rows have no counterfactual, or a replay differs.
INCOMPLETE = 3
# Stopped by Ctrl-C: 128 + SIGINT, as in shells.
INTERRUPTED = 130
