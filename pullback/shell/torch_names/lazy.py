"""Names of `torch` that few programs use, and the module each is imported from when it is first asked for."""

from __future__ import annotations

from typing import Any

SUBMODULES: frozenset[Any] = frozenset(
    {
        "_C", "__config__", "__future__", "_dynamo", "_subclasses", "_utils", "_utils_internal", "accelerator", "amp",
        "array_api",
        "autograd", "backends", "compiler", "cpu", "cuda", "distributed", "distributions", "explaining", "fft", "func",
        "futures", "fx", "hub", "implicit", "jit", "library", "linalg", "masked", "mps", "multi", "multiprocessing",
        "nn", "onnx", "optim", "optimize", "overrides", "profiler", "quasirandom", "random", "serialization",
        "signal", "sparse", "special", "storage", "testing", "types", "utils", "version", "xpu",
    }
)  # fmt: skip

NAMES: dict[str, str] = {
    ".shell.torch_names.alias": "install_as_torch uninstall_as_torch",
    ".serialization": "save load",
    ".func": "vmap",
    ".explaining": "explain memory",
    ".core.basics.layout": "memory_format strided sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc _mkldnn jagged "
    "preserve_format contiguous_format legacy_contiguous_format channels_last channels_last_3d",
    ".shell.torch_names.legacy_types": ""
    "FloatTensor DoubleTensor HalfTensor BFloat16Tensor ByteTensor CharTensor ShortTensor IntTensor "
    "LongTensor BoolTensor ComplexFloatTensor ComplexDoubleTensor set_default_tensor_type typename get_default_device "
    "set_default_device get_device_module OutOfMemoryError AcceleratorError",
    ".storage": "UntypedStorage TypedStorage is_storage Storage FloatStorage DoubleStorage HalfStorage BFloat16Storage "
    "ByteStorage CharStorage ShortStorage IntStorage LongStorage BoolStorage ComplexFloatStorage ComplexDoubleStorage",
    ".compiler": "compile _disable_dynamo",
    ".futures": "Future",
    ".sparse": "sparse_coo_tensor sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor "
    "sparse_compressed_tensor _convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo spmm dsmm smm saddmm",
    ".shell.torch_names.capture": ""
    "_assert _assert_async _check _check_index _check_is_size _check_not_implemented _check_tensor_all "
    "_check_type _check_value _has_compatible_shallow_copy_type _nnpack_available _shape_as_tensor "
    "cond while_loop sym_float sym_int sym_ite "
    "sym_max sym_min sym_not sym_sqrt sym_sum",
    ".amp": "autocast GradScaler",
    ".core.basics.dtypes": "complex32 chalf qint8 quint8 qint32 quint4x2 quint2x4 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu "
    "float4_e2m1fn_x2",
    ".amp.autocast_mode": "is_autocast_enabled is_autocast_cpu_enabled set_autocast_enabled set_autocast_cpu_enabled "
    "get_autocast_dtype set_autocast_dtype get_autocast_cpu_dtype get_autocast_gpu_dtype set_autocast_cpu_dtype "
    "set_autocast_gpu_dtype is_autocast_cache_enabled "
    "set_autocast_cache_enabled clear_autocast_cache",
    ".torch_version": "TorchVersion",
    ".multi": "jacobian backward_batched per_sample_gradients per_sample_norms",
    ".func.sparse_jacobians": "sparse_jacobian sparse_hessian",
    ".func.series": "taylor",
    ".transforms.safe_mode": "safe_gradients",
}
