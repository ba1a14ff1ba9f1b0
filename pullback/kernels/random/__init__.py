"""Random numbers on plain arrays, bit for bit those of torch's CPU streams.

``engine`` is the generator and its words; ``streams`` draws continuous distributions, with the arithmetic of float32
normals in ``normals``; ``discrete`` draws integers, masks and choices, with the swaps of permutations in ``shuffling``;
``rejection`` and ``gammas`` what needs a varying number of draws. Import the module you need; this one imports none of
them. Tensors and argument checks live in ``functional``.
"""
