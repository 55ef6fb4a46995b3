"""The life of a run, once for all commands: what a user can say, which run is meant, what it leaves."""
