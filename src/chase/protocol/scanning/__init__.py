"""Which observables of a benchmark's protocol go with evidence or with the answer, and what takes that away."""
