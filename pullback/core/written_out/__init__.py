"""Backward passes that repeat, written out as code: an accelerator of the core."""
