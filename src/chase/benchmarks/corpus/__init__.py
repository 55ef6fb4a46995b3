"""What benchmarks over one corpus of text documents share: texts, passages, retrieval, tools, firewall."""
