"""Transformer layers: encoder and decoder layers, stacks of them, and the two together."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pullback

from ...core.basics.notices import warn_user
from .. import functional as F
from .. import init
from ._attention import MultiheadAttention
from .activation import GELU, ReLU
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

if TYPE_CHECKING:
    from collections.abc import Callable

    from ... import Tensor

    Activation = str | Callable[[Tensor], Tensor]

__all__ = ["Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
           "TransformerEncoderLayer"]  # fmt: skip


class Transformer(Module):
    """An encoder of `src` and a decoder of `tgt` that attends to it.

    `src` and `tgt` have shape (length, batch, d_model), or (batch, length, d_model) with `batch_first`; embedding and
    positions are up to you. `generate_square_subsequent_mask(length)` is the mask with which no position sees later
    ones.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first,
                   bias, device, dtype)  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)

        if custom_encoder is None:
            custom_encoder = TransformerEncoder(TransformerEncoderLayer(*options), num_encoder_layers, norm())
        self.encoder: Any = custom_encoder
        if custom_decoder is None:
            custom_decoder = TransformerDecoder(TransformerDecoderLayer(*options), num_decoder_layers, norm())
        self.decoder: Any = custom_decoder
        self._reset_parameters()
        self.d_model: int = d_model
        self.nhead: int = nhead
        self.batch_first: bool = batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batch_dim = 0 if self.batch_first else 1
        if src.dim() == 3 and src.shape[batch_dim] != tgt.shape[batch_dim]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """The mask that hides later positions: -inf above the diagonal, 0 elsewhere."""
        return _generate_square_subsequent_mask(sz, device, dtype)


class TransformerEncoder(Module):
    """A stack of copies of `encoder_layer`."""

    __constants__: list[str] = ["norm"]

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers: ModuleList = _get_clones(encoder_layer, num_layers)
        self.num_layers: int = num_layers
        self.norm: Module | None = norm
        self.enable_nested_tensor: bool = enable_nested_tensor
        self.use_nested_tensor: bool = enable_nested_tensor
        self.mask_check: bool = mask_check
        obstacle = _why_not_nested(encoder_layer) if enable_nested_tensor else ""
        if obstacle:
            warn_user(
                f"enable_nested_tensor is True, but self.use_nested_tensor is False because encoder_layer{obstacle}"
            )
            self.use_nested_tensor = False

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        causal = _detect_is_causal_mask(mask, is_causal, _length(src, self.layers[0].self_attn.batch_first))
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=causal, src_key_padding_mask=src_key_padding_mask)
        if src_key_padding_mask is not None and mask is None and self._drops_padding(src, src_key_padding_mask):
            hidden = _is_padding(src_key_padding_mask).unsqueeze(-1)
            output = output.masked_fill(hidden, 0.0)
        return output if self.norm is None else self.norm(output)

    def _drops_padding(self, src: Tensor, padding_mask: Tensor) -> bool:
        """True if torch would run without the padded positions and fill them with zeros, which its users may see."""
        first = self.layers[0]
        if not self.use_nested_tensor or first.training or src.dim() != 3:
            return False
        if pullback.is_grad_enabled() and (src.requires_grad or any(one.requires_grad for one in first.parameters())):
            return False
        if not self.mask_check:
            return True
        hidden = _is_padding(padding_mask)
        return not bool((hidden[:, :-1] & ~hidden[:, 1:]).any())  # padding at the end only


class TransformerDecoder(Module):
    """A stack of copies of `decoder_layer`."""

    __constants__: list[str] = ["norm"]

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers: ModuleList = _get_clones(decoder_layer, num_layers)
        self.num_layers: int = num_layers
        self.norm: Module | None = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        causal = _detect_is_causal_mask(tgt_mask, tgt_is_causal, _length(tgt, self.layers[0].self_attn.batch_first))
        output = tgt
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


class _TransformerLayer(Module):
    """The base of encoder and decoder layers: attentions, then two linear layers, with a norm and a dropout for each."""

    __constants__: list[str] = ["norm_first"]
    _attentions: tuple[str, ...]
    self_attn: MultiheadAttention
    norm1: LayerNorm
    norm2: LayerNorm
    dropout1: Dropout
    dropout2: Dropout

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        made = {"bias": bias, "device": device, "dtype": dtype}
        for name in self._attentions:
            attention = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, **made)
            self.add_module(name, attention)
        self.linear1: Linear = Linear(d_model, dim_feedforward, **made)
        self.dropout: Dropout = Dropout(dropout)
        self.linear2: Linear = Linear(dim_feedforward, d_model, **made)
        self.norm_first: bool = norm_first
        blocks = range(1, len(self._attentions) + 2)
        for number in blocks:
            self.add_module(f"norm{number}", LayerNorm(d_model, eps=layer_norm_eps, **made))
        for number in blocks:
            self.add_module(f"dropout{number}", Dropout(dropout))
        self.activation: Callable[..., Tensor] = _get_activation_fn(activation)
        is_relu = self.activation is F.relu or isinstance(self.activation, ReLU)
        is_gelu = self.activation is F.gelu or isinstance(self.activation, GELU)
        self.activation_relu_or_gelu: int = 1 if is_relu else 2 if is_gelu else 0

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        attended = self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal, need_weights=False
        )[0]
        return self.dropout1(attended)


class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention, then two linear layers; each added to its input and normalised, before or after.

    Inputs are (length, batch, d_model), or (batch, length, d_model) with `batch_first`. The attention has `nhead`
    heads, the first linear layer `dim_feedforward` outputs, to which `activation` is applied ("relu", "gelu" or a
    function); `dropout` is between all of them. `norm_first` normalises before each part rather than after it.
    `layer(src, src_mask, src_key_padding_mask, is_causal)`: for masks see `MultiheadAttention`.
    """

    _attentions: tuple[str, ...] = ("self_attn",)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        if self.norm_first:
            src = src + self._sa_block(self.norm1(src), src_mask, src_key_padding_mask, is_causal)
            return src + self._ff_block(self.norm2(src))
        src = self.norm1(src + self._sa_block(src, src_mask, src_key_padding_mask, is_causal))
        return self.norm2(src + self._ff_block(src))

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer(_TransformerLayer):
    """Self-attention, attention to the encoder's output, then two linear layers.

    The arguments are those of `TransformerEncoderLayer`. `layer(tgt, memory, tgt_mask, memory_mask,
    tgt_key_padding_mask, memory_key_padding_mask)`: for masks see `MultiheadAttention`.
    """

    _attentions: tuple[str, ...] = ("self_attn", "multihead_attn")
    multihead_attn: MultiheadAttention
    norm3: LayerNorm
    dropout3: Dropout

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        to_self = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        to_memory = (memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        if self.norm_first:
            tgt = tgt + self._sa_block(self.norm1(tgt), *to_self)
            tgt = tgt + self._mha_block(self.norm2(tgt), *to_memory)
            return tgt + self._ff_block(self.norm3(tgt))
        tgt = self.norm1(tgt + self._sa_block(tgt, *to_self))
        tgt = self.norm2(tgt + self._mha_block(tgt, *to_memory))
        return self.norm3(tgt + self._ff_block(tgt))

    def _mha_block(
        self, x: Tensor, mem: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        attended = self.multihead_attn(
            x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal, need_weights=False
        )[0]
        return self.dropout2(attended)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


def _why_not_nested(layer: Any) -> str:
    """Why torch's encoder could not skip padded positions with this layer; empty if it could."""
    if not isinstance(layer, TransformerEncoderLayer):
        return " was not TransformerEncoderLayer"
    attention = layer.self_attn
    for obstacle, reason in (
        (layer.norm_first, ".norm_first was True"),
        (
            not attention.batch_first,
            ".self_attn.batch_first was not True(use batch_first for better inference performance)",
        ),
        (not attention._qkv_same_embed_dim, ".self_attn._qkv_same_embed_dim was not True"),
        (attention.in_proj_bias is None, ".self_attn was passed bias=False"),
        (not layer.activation_relu_or_gelu, ".activation_relu_or_gelu was not True"),
        (layer.norm1.eps != layer.norm2.eps, ".norm1.eps was not equal to encoder_layer.norm2.eps"),
        (attention.num_heads % 2 == 1, ".self_attn.num_heads is odd"),
    ):
        if obstacle:
            return reason
    return ""


def _generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
    return pullback.triu(pullback.full((sz, sz), float("-inf"), dtype=dtype, device=device), diagonal=1)


def _length(sequence: Tensor, batch_first: bool) -> int:
    return sequence.shape[1 if batch_first and sequence.dim() == 3 else 0]


def _is_padding(mask: Tensor) -> Tensor:
    """Padded positions of a key padding mask, which is boolean or has -inf there."""
    return mask if mask.dtype == pullback.bool else mask != 0


def _detect_is_causal_mask(mask: Tensor | None, is_causal: bool | None = None, size: int | None = None) -> bool:
    if is_causal is not None or mask is None:
        return is_causal is True
    expected = _generate_square_subsequent_mask(mask.shape[-2] if size is None else size, mask.device, mask.dtype)
    return mask.shape == expected.shape and bool((mask == expected).all())


def _get_clones(module: Module, N: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


def _get_activation_fn(activation: Any) -> Callable[[Tensor], Tensor]:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return F.relu if activation == "relu" else F.gelu
