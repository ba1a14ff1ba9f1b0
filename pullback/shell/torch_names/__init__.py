"""How torch's names reach what Pullback calls otherwise, or has not loaded yet, or does not have.

`alias.py` answers `import torch`; `lookup.py` finds dotted names and words the errors about missing ones; `lazy.py` lists
what is imported on first use; `placeholders.py` stands for what may be mentioned but is not here. The rest are older
and inner names: `torch._foreach_add`, `torch.FloatTensor`, `torch.ops.aten`.
Whole modules of torch that have nothing to do here are in `shell/stand_ins/`.
"""
