"""Harnesses: what is evolved around a fixed model. `spec` says what one can be, `folder` how it lies on disk."""
