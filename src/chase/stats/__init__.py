"""Pure functions on arrays: estimates, intervals, theorems, power. No I/O."""
