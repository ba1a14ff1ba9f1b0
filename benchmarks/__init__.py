"""Speed measured as a ratio: the same program on torch and on Pullback, interleaved in one run."""
