"""Operations on arrays and the rules that differentiate them, by family. Plain NumPy; no tensors, no argument checks.

Rules speak a small language: operators, `[]`, `.shape`, dispatchable `np.` functions and other ops. It runs alike on
ndarrays, on tensors (recorded passes) and on batched arrays. `docs/add_an_op.md` shows how to write one.
No families but help for them: `layouts.py` (what operations do to axes), `fusing.py` (rules that have a kernel), `batching.py`
(layers on batches) and `striding.py` (memory and strides).
"""
