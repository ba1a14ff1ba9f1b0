"""Packages that a program imports: what is installed, how to install the rest, and what cannot run here.

Packages written for torch name it as a dependency; installed without their dependencies they find the alias.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

# Imported under another name than they are installed by.
_INSTALLED_AS = {
    "PIL": "pillow", "cv2": "opencv-python", "sklearn": "scikit-learn", "skimage": "scikit-image", "yaml": "pyyaml",
    "pyro": "pyro-ppl", "backpack": "backpack-for-pytorch", "ignite": "pytorch-ignite", "torch_geometric": "torch-geometric",
    "pytorch_lightning": "pytorch-lightning", "lightning_fabric": "lightning-fabric", "torchcrf": "pytorch-crf",
    "segmentation_models_pytorch": "segmentation-models-pytorch", "pytorch_msssim": "pytorch-msssim",
    "stable_baselines3": "stable-baselines3", "pytorch_metric_learning": "pytorch-metric-learning",
    "pytorch_tabnet": "pytorch-tabnet", "pytorch_grad_cam": "grad-cam", "vit_pytorch": "vit-pytorch",
}  # fmt: skip

# Those of the page "Packages that run" that ask pip for torch.
_WRITTEN_FOR_TORCH = frozenset(
    """torchvision torchmetrics pytorch_lightning lightning lightning_fabric ignite accelerate skorch torch_optimizer torchinfo
    torchjd entmax torchcrf torchdiffeq timm segmentation_models_pytorch lpips kornia pytorch_msssim vit_pytorch x_transformers
    captum gpytorch linear_operator botorch pyro sbi torchsde torchcde nflows normflows zuko geomloss geoopt higher torchopt
    backpack opacus curvlinops laplace pytorch_metric_learning pytorch_tabnet torch_geometric tianshou stable_baselines3
    tensordict torchdeq qpth evotorch monai fastai torcheval snntorch norse e3nn peft diffusers piq torchattacks lightly
    pytorch_grad_cam torchcam zennit roma pypose neuraloperator deepinv funsor pykeen""".split()
)

_CANNOT = {
    "torchaudio": "it loads compiled operators", "torch_harmonics": "it loads compiled operators",
    "torch_scatter": "its operators are compiled", "torch_sparse": "its operators are compiled",
    "pyg_lib": "its operators are compiled", "triton": "it makes programs for a GPU",
    "flash_attn": "its operators are for a GPU", "apex": "its operators are for a GPU", "torch_xla": "it is for a TPU",
}  # fmt: skip


def remedy(package: str) -> str:
    """Tell what to do about a package that is not installed, or why nothing can be done."""
    if package in _CANNOT:
        return f"cannot run here: {_CANNOT[package]}"
    alone = "--no-deps " if package in _WRITTEN_FOR_TORCH else ""
    after = ", then what else it asks for" if alone else ""
    return f"pip install {alone}{_INSTALLED_AS.get(package, package)}{after}"


def is_known(package: str) -> bool:
    """True if a package is known to be written for torch, so that something can be said about it."""
    return package in _CANNOT or package in _WRITTEN_FOR_TORCH


def absent(package: str, file: str) -> bool:
    """True if a program in this file could not import the package: it is neither installed nor a neighbour."""
    if package in sys.stdlib_module_names or package == "pullback":
        return False
    if package in _CANNOT:
        return True
    folder = os.path.dirname(os.path.abspath(file))
    folders = [folder]
    while os.path.dirname(folder) != folder and len(folders) < 8:  # a project's own packages lie at or above the file
        folder = os.path.dirname(folder)
        folders.append(folder)
    for each in folders:
        if os.path.exists(os.path.join(each, package)) or os.path.exists(os.path.join(each, package + ".py")):
            return False
    try:
        return find_spec(package) is None
    except (ImportError, ValueError):
        return True
