"""Mergeable statistics of blocks, one file each."""
