"""Folding a batch normalisation in evaluation mode into the layer before it."""

from __future__ import annotations

import copy
from typing import Any

import pullback

from ...core.tensor import Tensor
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that computes `bn(conv(x))`."""
    _require_eval(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the fused convolution."""
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    scale = pullback.rsqrt(bn_rv + bn_eps)
    scale = scale if bn_w is None else scale * bn_w
    return _fused(conv_w, conv_b, scale.reshape(shape), scale, bn_rm, bn_b)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear layer that computes `bn(linear(x))`."""
    _require_eval(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor, bn_b: Tensor
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the fused linear layer."""
    scale = bn_w * pullback.rsqrt(bn_rv + bn_eps)
    return _fused(linear_w, linear_b, scale.unsqueeze(-1), scale, bn_rm, bn_b)


def _require_eval(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def _fused(
    weight: Tensor, bias: Tensor | None, weight_scale: Tensor, scale: Tensor, mean: Tensor, shift: Tensor | None
) -> tuple[Parameter, Parameter]:
    old = pullback.zeros_like(mean) if bias is None else bias
    with pullback.no_grad():
        new_weight = (weight * weight_scale).to(dtype=weight.dtype)
        new_bias = (old - mean) * scale
        new_bias = (new_bias if shift is None else new_bias + shift).to(
            dtype=weight.dtype if bias is None else bias.dtype
        )
    return Parameter(new_weight, weight.requires_grad), Parameter(new_bias, old.requires_grad)
