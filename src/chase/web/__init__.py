"""The local viewer: pages over a workspace's store, for one person on this machine. It only reads."""
