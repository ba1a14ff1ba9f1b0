"""Random numbers inside `vmap`: refused, the same or different for the examples, drawn as torch draws them."""

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

# functions of (library, tensor); the tensor is used for its shape and dtype only
SHAPED = {
    "rand": lambda M, x: M.rand(3),
    "randn_like": lambda M, x: M.randn_like(x),
    "randperm": lambda M, x: M.randperm(20).double(),
    "dropout": lambda M, x: M.nn.functional.dropout(M.ones_like(x)),
    "dropout1d": lambda M, x: M.nn.functional.dropout1d(x.new_ones(4, 5, 2)),
    "dropout3d": lambda M, x: M.nn.functional.dropout3d(x.new_ones(24, 1, 2, 2)),
    "alpha_dropout": lambda M, x: M.nn.functional.alpha_dropout(M.ones_like(x), training=True),
    "feature_alpha_dropout": lambda M, x: M.nn.functional.feature_alpha_dropout(x.new_ones(4, 6, 2), training=True),
    "gumbel_softmax": lambda M, x: M.nn.functional.gumbel_softmax(M.zeros_like(x)),
    "uniform_": lambda M, x: M.zeros_like(x).uniform_(),
    "bernoulli_": lambda M, x: M.zeros_like(x).bernoulli_(0.4),
    "exponential_": lambda M, x: M.zeros_like(x).exponential_(),
}
# functions whose numbers depend on the values of the tensor
OF_VALUES = {
    "bernoulli": lambda M, x: M.bernoulli(x),
    "normal": lambda M, x: M.normal(x, 1.0),
    "normal, both tensors": lambda M, x: M.normal(x, x + 1),
    "poisson": lambda M, x: M.poisson(x * 20),
    "standard gamma": lambda M, x: M._standard_gamma(x + 0.5),
    "dirichlet": lambda M, x: M._sample_dirichlet(x + 0.5),
    "bernoulli_ with chances": lambda M, x: M.zeros_like(x).bernoulli_(x),
    "multinomial": lambda M, x: M.multinomial(x, 40, replacement=True),
    "multinomial of rows": lambda M, x: M.multinomial(x.expand(2, 24) + 0.1, 5),
}
X = np.linspace(0.05, 0.95, 96).reshape(4, 24)


def run(M, function, randomness, **options):
    M.manual_seed(5)
    return np.asarray(M.func.vmap(lambda x: function(M, x), randomness=randomness, **options)(M.tensor(X)))


@pytest.mark.parametrize("name", SHAPED)
def test_same_and_different(name):
    same = run(pullback, SHAPED[name], "same")
    assert all((same[0] == part).all() for part in same)
    different = run(pullback, SHAPED[name], "different")
    assert not any((different[i] == different[j]).all() for i in range(4) for j in range(i))
    np.testing.assert_allclose(same, run(torch, SHAPED[name], "same"), rtol=1e-6)
    np.testing.assert_allclose(different, run(torch, SHAPED[name], "different"), rtol=1e-6)


@pytest.mark.parametrize("name", SHAPED)
def test_the_same_in_all_chunks(name):
    chunked = run(pullback, SHAPED[name], "same", chunk_size=3)
    # The same draws; exponentials round their last bit by where in memory they lie.
    np.testing.assert_allclose(chunked, run(pullback, SHAPED[name], "same"), rtol=1e-15)


@pytest.mark.parametrize("name", OF_VALUES)
def test_numbers_that_depend_on_values(name):
    different = run(pullback, OF_VALUES[name], "different")
    np.testing.assert_allclose(different, run(torch, OF_VALUES[name], "different"), rtol=1e-6)
    with pytest.raises(RuntimeError, match="does not currently support same randomness with a batched tensor input"):
        run(pullback, OF_VALUES[name], "same")


@pytest.mark.parametrize("name", [name for name in OF_VALUES if "_" not in name])  # nothing to write to for each
def test_numbers_that_depend_on_values_that_all_share(name):
    def both(M, randomness):
        shared = M.tensor(X[0])
        return run(M, lambda M, x: OF_VALUES[name](M, shared), randomness)

    for randomness in ("same", "different"):
        np.testing.assert_allclose(both(pullback, randomness), both(torch, randomness), rtol=1e-6)


@pytest.mark.parametrize("name", {**SHAPED, **OF_VALUES})
def test_refused_unless_asked_for(name):
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        run(pullback, {**SHAPED, **OF_VALUES}[name], "error")


@pytest.mark.parametrize("inner", ["same", "different"])
@pytest.mark.parametrize("outer", ["same", "different"])
@pytest.mark.parametrize("name", ["rand", "dropout", "randn_like"])
def test_nested(name, inner, outer):
    def nested(M):
        return run(M, lambda M, row: M.func.vmap(lambda x: SHAPED[name](M, x.expand(3)), randomness=inner)(row), outer)

    np.testing.assert_allclose(nested(pullback), nested(torch), rtol=1e-6)


def test_different_numbers_for_a_tensor_that_all_share():
    for M in (pullback, torch):
        with pytest.raises(RuntimeError, match="different inplace randomness on an unbatched tensor"):
            M.func.vmap(lambda x: M.zeros(3).uniform_() + x, randomness="different")(M.ones(2, 3))


def test_an_ensemble_drops_other_elements_in_each_member():
    layer = pullback.nn.Sequential(pullback.nn.Linear(6, 8), pullback.nn.Dropout(0.5))
    members = [pullback.nn.Sequential(pullback.nn.Linear(6, 8), pullback.nn.Dropout(0.5)) for _ in range(3)]
    state, buffers = pullback.func.stack_module_state(members)

    def member(state, x):
        return pullback.func.functional_call(layer, (state, buffers), (x,))

    outputs = pullback.vmap(member, in_dims=(0, None), randomness="different")(state, pullback.ones(4, 6))
    dropped = np.asarray((outputs == 0).detach())
    assert not any((dropped[i] == dropped[j]).all() for i in range(3) for j in range(i))


@pytest.mark.parametrize(
    "name, draw",
    [
        ("rand_like", lambda library, x: library.rand_like(x)),
        ("randn_like of a result", lambda library, x: library.randn_like(x.sin() * x)),
        ("normal_", lambda library, x: x.clone().normal_()),
        ("bernoulli_", lambda library, x: x.clone().bernoulli_(0.5)),
        ("bernoulli_ with chances", lambda library, x: x.clone().bernoulli_(x / 24)),
        ("randint_like", lambda library, x: library.randint_like(x, 0, 100)),
    ],
)
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_numbers_run_along_the_memory_of_the_whole_batch(name, draw, dim):
    torch = pytest.importorskip("torch")
    answers = []
    for library in (pullback, torch):
        x = library.arange(24.0).reshape(2, 3, 4)
        library.manual_seed(5)
        drawn = library.vmap(lambda x, library=library: draw(library, x), in_dims=dim, randomness="different")(x)
        answers.append(np.asarray(drawn))
    np.testing.assert_allclose(*answers, rtol=1e-6)


LAYOUTS = {
    "turned": lambda w: w.transpose(0, 2),
    "expanded in front": lambda w: w.expand(3, 2, 3, 4),
    "turned and expanded": lambda w: w.transpose(1, 2).unsqueeze(1).expand(2, 6, 4, 3),
    "expanded in the middle": lambda w: w[:, :1].expand(2, 5, 4),
    "with gaps": lambda w: w[:, ::2],
}
DRAWS = {
    "randn_like": lambda library, w: library.randn_like(w),
    "randint_like": lambda library, w: library.randint_like(w, 0, 100),
    "dropout": lambda library, w: library.nn.functional.dropout(w),
    "alpha_dropout": lambda library, w: library.nn.functional.alpha_dropout(w, training=True),
}


@pytest.mark.parametrize("randomness", ["outside", "same", "different"])
@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_numbers_for_a_shared_tensor_of_any_layout(layout, draw, randomness):
    """What all examples share has numbers for each of them, if these are to differ, and torch's either way."""
    answers = []
    for library in (pullback, torch):
        w = LAYOUTS[layout](library.arange(1.0, 25.0).reshape(2, 3, 4))
        library.manual_seed(5)
        if randomness == "outside":
            drawn = DRAWS[draw](library, w)
            assert drawn.stride() == library.empty_like(w).stride()
        else:
            drawn = library.vmap(lambda x, w=w, library=library: DRAWS[draw](library, w) + x, randomness=randomness)(
                library.zeros(3)
            )
        answers.append(np.asarray(drawn))
    np.testing.assert_allclose(*answers, rtol=1e-6)


def test_numbers_for_a_shared_tensor_are_refused_by_default():
    w = pullback.ones(2, 3).T
    with pytest.raises(RuntimeError, match="randomness error mode"):
        pullback.vmap(lambda x: pullback.randn_like(w) + x)(pullback.zeros(3))


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_the_same_numbers_written_into_every_example(dim):
    answers = []
    for library in (pullback, torch):
        x = library.zeros(4, 5, 6)
        library.manual_seed(5)
        answers.append(np.asarray(library.vmap(lambda x: x.normal_(), in_dims=dim, randomness="same")(x)))
    np.testing.assert_allclose(*answers, rtol=1e-6)
