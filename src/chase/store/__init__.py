"""One store per workspace: rollouts, traces, ledger, runs and seals. The only writer of run files."""
