"""Studies: scripts whose results are committed under `studies/results/`. Run as `python -m studies.NAME`."""
