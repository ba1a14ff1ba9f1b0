"""Programs in which campaigns of random programs found a difference: both libraries now do the same, line by line."""

import pytest

pytest.importorskip("torch")

from tools.campaign.running import replay  # noqa: E402

BROKEN = ["v1 = leaf(1, (4,), requires_grad=True)", "v2 = v1.sin()", "v3 = v2.chunk(2)[0]", "v3.detach().mul_(1.5)"]
"""A view of several whose base was written: its history cannot be told any more."""

PROGRAMS = {
    **{
        f"history of a broken view: {line}": [*BROKEN, line]
        for line in [
            "v3.register_hook(lambda g: g)",
            "v3.retain_grad()",
            "v3.register_post_accumulate_grad_hook(lambda g: None)",
            "v3.is_leaf",
            "v3.grad_fn",
            "v3.requires_grad, v3.detach(), v3.tolist(), v3.grad, v3.retains_grad",
            "v3.backward(T.ones(2).double())",
            "g1 = T.autograd.grad(v2.sum(), v3, allow_unused=True)",
            "Sine.apply(v3)",
            "with T.no_grad(): Sine.apply(v3)",
            "with T.no_grad(): v3.is_leaf",
            "v3.any(), v3.argmax(), v3.all(0), v3 > 0, v3.bool(), v3.long()",
            "v3.sign()",
            "b1 = str(v3) == \"tensor([ 1.4978, -0.8615], dtype=torch.float64, grad_fn=<Invalid>)\"; assert b1",
        ]
    },
    **{
        f"slices without elements: {call}, {shape}": [
            f"v1 = leaf(1, {shape}, requires_grad=True)", f"v2 = v1.{call}", "v2.sum().backward()",
        ]
        for call in ["index_fill(0, T.tensor([7]), 0.2)", "index_fill(0, T.tensor([-7]), T.tensor(0.2).double())"]
        for shape in [(3, 0), (0, 0), (0, 2, 0)]
    },
    **{
        f"slices without elements: {name}, {shape}": [
            f"v1 = leaf(1, {shape}, requires_grad=True)", "v2 = leaf(1, (2, *v1.shape[1:]))",
            f"v3 = v1.{name}(0, T.tensor([7, 0]), v2)", "v3.sum().backward()",
        ]
        for name in ["index_add", "index_copy"]
        for shape in [(3, 0), (0, 0), (2, 2, 0)]
    },
    "a product of several zeros, recorded": [
        "v1 = T.tensor([[0., 0., 2.], [0., 1., 2.]], requires_grad=True)", "v2 = T.zeros(2, 3, dtype=T.int64)",
        "v3 = T.scatter_reduce(v1, 1, v2, v1, 'prod')", "v3.sum().backward(create_graph=True)", "v1.grad.sum().backward()",
    ],
    "slices that are not there": ["v1 = leaf(1, (3, 2))", "v1.index_fill(0, T.tensor([7]), 0.2)"],
    "rows that are not there": ["v1 = leaf(1, (0, 2))", "T.nn.functional.embedding(T.tensor([1]), v1)"],
    **{
        f"a second pass: {call}": [
            "v1 = leaf(1, (2, 5), requires_grad=True)", f"v2 = {call}", "v2.sum().backward()", "v2.sum().backward()",
        ]
        for call in [
            "T.trapezoid(v1)", "T.trapezoid(v1, dx=0.3)", "T.trapezoid(v1, leaf(2, (5,)))", "T.cumulative_trapezoid(v1, dx=2)",
            "T.gradient(v1, dim=1)[0]", "T.gradient(v1, spacing=0.3, dim=1, edge_order=2)[0]",
            "T.gradient(v1, spacing=(leaf(2, (5,)),), dim=1)[0]",
        ]
    },
    **{
        f"trapezoids of {dtype}": [
            f"v1 = leaf(1, (2, 5), dtype={dtype!r})", "v2 = T.trapezoid(v1, dx=0.3)", "v3 = T.gradient(v1, spacing=3)",
        ]
        for dtype in ["float16", "bfloat16", "int64", "complex64"]
    },
    **{
        f"deviations of equal numbers: {call}": [
            "v1 = (leaf(1, (3, 2))*0 + 0.1).requires_grad_()", f"v2 = {call}", "v2.sum().backward()",
        ]
        for call in ["v1.std(0)", "v1.var(0)", "T.std_mean(v1, 0)[0]", "(v1*9).std(0)", "(v1*1e9).std(0)"]
    },
    **{
        f"deviations without freedom: {call}": [
            "v1 = leaf(1, (), requires_grad=True)", "v2 = leaf(2, (3,), requires_grad=True)", f"v3 = {call}",
            "g1 = T.autograd.grad(v3, [v1, v2], create_graph=True, allow_unused=True)",
        ]
        for call in ["v1.var()", "v1.var(-1)", "v1.var(correction=3)", "v2.var(correction=3)", "v2.var(correction=4)"]
    },
    "second derivatives of deviations": [
        "x1 = leaf(1, ())", "y1 = T.func.hessian(lambda a: a.var(-1))(x1)", "x2 = leaf(1, (2,))",
        "y2 = T.vmap(T.func.hessian(lambda a: a.var(-1)))(x2)",
    ],
    **{
        f"sums before products: {call}": [
            "v1 = T.tensor([[True, True], [True, False]])", "v2 = leaf(1, (2, 2), dtype='int64')", "v3 = v2.to(T.int32)",
            f"v4 = T.einsum({call})",
        ]
        for call in [
            "'ij,kj->k', v1, v2", "'ij,kj->k', v3, v2", "'kj,ij->k', v2, v3", "'ij,i->', v1, v2[0]", "'ij,i->', v3, v3[0]",
            "'ij,kj->k', v1, v1", "'ij,kl->', v1, v2",
        ]
    },
    **{
        f"complex targets: {call}": [
            "v1 = leaf(1, (5,))", "v2 = leaf(1, (5,), dtype='complex64')",
            f"v3 = T.nn.functional.binary_cross_entropy_with_logits({call})",
        ]
        for call in [
            "v1, v2", "v1, v2, reduction='none'", "v1, v2, pos_weight=v1", "v1, v2, weight=v1", "v1, v1, v2", "v2, v2", "v2, v1",
            "v1, v1, pos_weight=v2",
        ]
    },
    **{
        f"sizes of variances: {shape}": [
            "v1 = leaf(1, (2, 2))", f"v2 = leaf(1, {shape}).abs()", "v3 = T.nn.functional.gaussian_nll_loss(v1, v1, v2)",
        ]
        for shape in [(0, 1), (1, 2), (2,), (1, 1), (2, 0), (2, 3), ()]
    },
    **{
        f"determinants of {layout}": [
            f"v1 = leaf(1, (2, 3, 2, 2), layout={layout!r})", "v2 = T.linalg.det(v1)", "v3 = T.linalg.slogdet(v1)[1]",
        ]
        for layout in ["columns", "swapped"]
    },
    **{
        f"a wider result written in place: {write}": [
            "v1 = leaf(1, (4,), requires_grad=True)", f"v2 = leaf(2, (4,), dtype={dtype!r})", write, "v3 = v2*2",
            "d1 = []", "v2.register_hook(lambda g: d1.append(str(g.dtype)))",
            "g1 = T.autograd.grad(v3, [v1, v2], T.ones_like(v3), retain_graph=True)",
            "g2 = T.autograd.grad(v3, [v1, v2], T.ones_like(v3), create_graph=True)",
            "g3 = T.autograd.grad(v3, [v1, v2], T.ones(3, 4, dtype=v3.dtype), is_grads_batched=True)",
            f"assert d1 == 3*['torch.{dtype}'], d1",
        ]
        for dtype in ["float32", "complex64", "float16"]
        for write in ["v2 += v1", "v2.mul_(v1)", "v2.sub_(v1)"]
    },
    **{
        f"a write to a leaf is refused first: {write}": ["v1 = leaf(1, (0, 2), requires_grad=True)", write]
        for write in ["v1[[0]] = v1", "v1[T.tensor([7])] = 1.", "v1[[7]] = 0.", "v1[7] = 0."]
    },
    "a write of what is there": [
        "v1 = leaf(1, (1,))", "v2 = v1.unsqueeze(0).expand(3, 1)", "v2[..., 0] = v1", "v2[..., 0] = v1+1", "v2.copy_(v1)",
    ],
    **{
        f"a root that nothing was asked of: {call}": [
            "v1 = leaf(1, (3, 2), requires_grad=True)", "v1.register_hook(lambda g: g*2)", "v2 = v1.tile((2,))", f"g1 = {call}",
        ]
        for call in [
            "T.autograd.grad(v1, [v2], leaf(2, (3, 2)), allow_unused=True)",
            "T.autograd.grad(v1, [v2], leaf(2, (4, 3, 2)), is_grads_batched=True, allow_unused=True)",
            "T.autograd.grad([v1, v2], [v1], [leaf(2, (3, 2)), leaf(3, (3, 4))])",
        ]
    },
    **{
        f"a count has no gradient: {call}": [
            "v1 = leaf(1, (2, 3), requires_grad=True)", f"v2 = {call}", "g1 = T.autograd.grad(v2.sum(), v1, allow_unused=True)",
            "(v2.sum()*2 + v1.sum()).backward()",
        ]
        for call in [
            "T.norm(v1, 0)", "T.linalg.vector_norm(v1, 0, dim=1)", "T.linalg.norm(v1, 0, dim=0)",
            "T.nn.functional.pairwise_distance(v1, v1*2, 0)", "T.cdist(v1, v1*2, 0)",
        ]
    },
    **{
        f"a root of other data: {data}": [
            "v1 = leaf(1, (3,), requires_grad=True)", "v2 = v1.sum()", f"v2.data = T.ones({data}).double()",
            f"v2.backward(T.ones({data}).double())",
        ]
        for data in ["1", "3", "2, 2"]
    },
    **{
        f"numbers beside bfloat16, recorded twice: {call}": [
            "v1 = leaf(1, (2,), dtype='bfloat16', requires_grad=True)", f"v2 = {call}",
            "g1 = T.autograd.grad(v2.float().square().sum(), v1, create_graph=True)",
            "g2 = T.autograd.grad(g1[0].float().square().sum(), v1, create_graph=True)",
        ]
        for call in ["T.sub(v1, v1, alpha=2).erf()", "v1*True", "v1/True", "v1.lerp(v1*2, 0.5)"]
    },
    **{
        f"zeros of {dtype} have a root mean square": [
            f"v1 = leaf(1, (2,), dtype={dtype!r})*0", "v1.requires_grad_()", "v2 = T.nn.functional.rms_norm(v1, (2,))",
            "v3 = T.nn.functional.rms_norm(v1 + 1e-9j, (2,))", "v2.abs().sum().backward()",
        ]
        for dtype in ["complex64", "complex128"]
    },
    "a second derivative through a Bessel function's result": [
        "v1 = T.tensor([-2., 0.3, 1e-3, 0.], dtype=T.float64, requires_grad=True)", "v2 = T.special.i1(v1)",
        "g1 = T.autograd.grad(v2.sum(), v1, create_graph=True)", "g2 = T.autograd.grad(g1[0][:2].sum(), [v1, v2])",
        "g3 = T.autograd.grad(T.special.i1(v1).sum(), v1, create_graph=True)", "g3[0].square().sum().backward()",
    ],
    **{
        f"a diagonal of {view}": ["v1 = leaf(1, (4, 4))", f"v2 = {view}", "v3 = T.diagonal_scatter(v2, T.diagonal(v2)*2)"]
        for view in ["v1.diagonal().unsqueeze(0)", "v1[:, ::2][1:2]", "v1[:1].expand(3, 4)", "v1[::2, ::2]"]
    },
    **{
        f"windows too large for 32 bits: {call}": ["v1 = leaf(1, (1, 1, 4, 4))", f"T.nn.functional.{call}"]
        for call in [
            "avg_pool2d(v1, 2**40, padding=2**39)", "avg_pool1d(v1[0], 2**40, padding=2**39)", "avg_pool2d(v1, 2, 2**31)",
            "avg_pool2d(v1, (2, -2**31 - 1))", "max_pool2d(v1, 2, dilation=2**31)", "lp_pool2d(v1, 2, 2**40)",
            "avg_pool2d(v1, 2**31 - 1, padding=2**30 - 1)", "max_pool1d(v1[0], 2, 2**40)",
        ]
    },
    **{
        f"numbers too large for int64: {call}": [f"T.{call}"]
        for call in ["add(2, 2**63)", "add(2**63, 2)", "sub(2, 2**63)", "mul(2, 2**63)", "add(2, 2**62)", "add(2.5, 2**63)"]
    },
    **{
        f"a determinant beside ones that are not finite: {dtype}": [
            f"v1 = leaf(1, (3, 2, 2), dtype={dtype!r})", "v1[1, 0, 1] = float('nan')", "v1.requires_grad_()",
            "T.linalg.det(v1)[[0, 2]].abs().sum().backward()",
            "assert v1.grad[[0, 2]].isfinite().all()", "v1.grad = None",
        ]
        for dtype in ["float64", "complex128"]
    },
    **{
        f"no groups: {call}": ["v1 = leaf(1, (2, 4, 3))", call]
        for call in [
            "T.nn.functional.group_norm(v1, 0)", "T.nn.functional.group_norm(v1, -1)",
            "T.native_group_norm(v1, None, None, 2, 4, 3, 0, 1e-5)",
        ]
    },
    **{
        f"hooks on what a write goes through: {hook}, {write}, {root}": [
            "v1 = leaf(1, (3,), requires_grad=True)", "v2 = v1*1", "v3 = v2[0:2]", f"v3.{hook}", write,
            f"{root}.sum().backward()", "v4 = v3.grad",
        ]
        for hook in ["register_hook(lambda g: g*10)", "grad_fn.register_hook(lambda a, b: (a[0]*10,))", "retain_grad()"]
        for write in ["v3[0] *= 2", "v3[0:1].mul_(v1[0])", "v3[0:2][1:].fill_(3.)", "v3[1:].masked_fill_(T.tensor(True), 2.)"]
        for root in ["v2", "v3"]
    },
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_do_the_same(name):
    difference = replay(PROGRAMS[name])
    assert difference is None, difference
