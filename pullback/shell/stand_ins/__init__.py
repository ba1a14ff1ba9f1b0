"""Modules of torch that have little or nothing to do here: devices that are absent, compilers, exporters, inner names.

Programs import them and ask (`torch.cuda.is_available()`); the answers are a line each. This folder is a second place
where `pullback.x` is looked for (`__path__` in `pullback/__init__.py`), so `shell/stand_ins/cuda` *is* `pullback.cuda`, and is
never imported as `pullback.shell.stand_ins.cuda`. What lies outside it is imported by its full name, `pullback.core.tensor`.
Names without any module here are in `shell/torch_names/`.
"""
