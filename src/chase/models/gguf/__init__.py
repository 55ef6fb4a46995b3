"""Models in a GGUF file, served by llama.cpp on this machine for the length of a command."""
