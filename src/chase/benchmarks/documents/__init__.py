"""A benchmark of your own: a folder of documents, a file of questions, and one `benchmark.toml` that describes them."""
