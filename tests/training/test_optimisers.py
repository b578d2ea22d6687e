"""Optimisers on functions whose minimum is known, or known to SciPy."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize

from partita.kernels.weights.vectors import BLOCK
from partita.objectives import Likelihood
from partita.training.memory_corpus import MemoryCorpus
from partita.training.optimisers import (
    LBFGS,
    OWLQN,
    Adam,
    ExpectationMaximisation,
    FunctionProblem,
)
from partita.training.optimisers.curvature import Curvature
from partita.training.optimisers.owlqn import steepest_slope
from partita.training.penalties import Penalty
from partita.training.trainer import minimise, train
from partita.training.vectors import (
    CHUNK,
    combination,
    converted_pairs,
    dot,
    finish_gradient,
    moved,
    norm_of_quotient,
    pair_products,
    row_products,
)
from small_corpora import chain_batches

EXACT = {"gradient_tolerance": 1e-10, "loss_tolerance": 0.0}


def rosenbrock(weights):
    return float(optimize.rosen(weights)), optimize.rosen_der(weights)


def logistic_regression(seed=0, n=200, n_weights=40):
    """The loss of a logistic regression of which five features matter."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, n_weights))
    truth = np.where(np.arange(n_weights) < 5, 2.0, 0.0)
    sign = np.where(features @ truth + rng.normal(size=n) > 0, 1.0, -1.0)

    def loss(weights):
        margins = -sign * (features @ weights)
        slopes = -sign * np.exp(margins - np.logaddexp(0, margins))
        return float(np.logaddexp(0, margins).sum()), features.T @ slopes

    return loss


@pytest.mark.parametrize("n", [1, 5, 50])
def test_quadratics(n):
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, n))
    matrix, goal = root @ root.T + np.eye(n), rng.normal(size=n)

    def loss(weights):
        slope = matrix @ (weights - goal)
        return 0.5 * float((weights - goal) @ slope), slope

    result = minimise(loss, np.zeros(n), LBFGS(**EXACT))
    np.testing.assert_allclose(result.weights, goal, atol=1e-8, rtol=0)
    assert "Converged" in result.reason


@pytest.mark.parametrize("n", [2, 30])
def test_rosenbrock_takes_no_more_evaluations_than_scipy(n):
    evaluations = []

    def counted(weights):
        evaluations.append(1)
        return rosenbrock(weights)

    start = np.full(n, -1.2)
    options = {"maxcor": 6, "gtol": 1e-9, "ftol": 0, "maxiter": 2000}
    peer = optimize.minimize(rosenbrock, start, jac=True, method="L-BFGS-B", options=options)
    result = minimise(counted, start, LBFGS(**EXACT))
    np.testing.assert_allclose(result.weights, 1.0, atol=1e-8, rtol=0)
    assert len(evaluations) < 1.2 * peer.nfev
    losses = [record.loss for record in result.history]
    assert losses == sorted(losses, reverse=True)


def test_logistic_regression_with_l2_as_scipy():
    loss = logistic_regression()
    scale = np.where(np.arange(40) % 2, 1.0, 3.0)
    result = minimise(loss, np.zeros(40), LBFGS(**EXACT), penalty=Penalty(l2=0.7, scale=scale))

    def penalised(weights):
        value, gradient = loss(weights)
        return value + 0.35 * weights @ (scale * weights), gradient + 0.7 * scale * weights

    options = {"gtol": 1e-10, "ftol": 0, "maxcor": 30, "maxiter": 5000}
    peer = optimize.minimize(penalised, np.zeros(40), jac=True, method="L-BFGS-B", options=options)
    np.testing.assert_allclose(result.weights, peer.x, atol=1e-7, rtol=0)
    assert result.loss == pytest.approx(peer.fun, rel=1e-13)


@pytest.mark.parametrize("l1", [0.5, 5.0, 1000.0])
def test_owlqn_satisfies_the_conditions_of_a_minimum(l1):
    loss = logistic_regression()
    scale = np.where(np.arange(40) == 3, 0.0, 1.0)
    penalty = Penalty(l1=l1, l2=0.1, scale=scale)
    result = minimise(loss, np.zeros(40), OWLQN(**EXACT), penalty=penalty)
    weights = result.weights
    _, gradient = FunctionProblem(loss, 40, penalty).value_and_gradient(weights, 0)
    used = weights != 0.0
    np.testing.assert_allclose(
        gradient[used], -l1 * scale[used] * np.sign(weights[used]), atol=1e-7, rtol=0
    )
    assert (np.abs(gradient[~used]) <= l1 * scale[~used] + 1e-9).all()
    assert weights[3] != 0.0
    assert used.sum() > 1 or l1 == 1000.0
    assert result.loss == pytest.approx(
        loss(weights)[0] + penalty.smooth(weights) + l1 * np.abs(scale * weights).sum(), rel=1e-13
    )


def test_owlqn_as_scipy_in_twice_as_many_variables():
    """|w| = u + v with w = u - v and u, v >= 0, which SciPy can bound."""
    loss = logistic_regression(seed=2)

    def doubled(both):
        value, gradient = loss(both[:40] - both[40:])
        return value + 3.0 * both.sum(), np.concatenate([gradient, -gradient]) + 3.0

    options = {"gtol": 1e-9, "ftol": 0, "maxiter": 5000}
    bounds = [(0, None)] * 80
    peer = optimize.minimize(
        doubled, np.zeros(80), jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    result = minimise(loss, np.zeros(40), OWLQN(**EXACT), penalty=Penalty(l1=3.0))
    np.testing.assert_allclose(result.weights, peer.x[:40] - peer.x[40:], atol=1e-5, rtol=0)
    assert result.loss == pytest.approx(peer.fun, rel=1e-10)


def test_steepest_slope_is_zero_where_the_penalty_holds_a_weight():
    problem = FunctionProblem(rosenbrock, 3, Penalty(l1=1.0))
    slope = steepest_slope(problem, np.array([0.0, 0.0, 2.0]), np.array([0.5, -3.0, 1.0]))
    np.testing.assert_array_equal(slope, [0.0, -2.0, 2.0])


def test_the_direction_is_that_of_the_two_loop_recursion():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(20, 20))
    hessian = root @ root.T + np.eye(20)
    curvature, pairs = Curvature(memory=4), []
    for _ in range(7):
        step, gradient = rng.normal(size=(2, 20))
        change, origin = hessian @ step, np.zeros(20)
        # As it is remembered, in single precision.
        pairs = [*pairs, (np.float64(np.float32(step)), np.float64(np.float32(change)))][-4:]
        curvature = curvature.updated((0.5, 2 * step), (change, origin), gradient)
        direction, slope = curvature.direction(gradient)
        np.testing.assert_allclose(direction, -_two_loops(pairs, gradient), rtol=1e-9)
        assert slope == pytest.approx(direction @ gradient, rel=1e-12)
    changed = curvature.updated((1.0, step), (-step, origin), 2 * gradient)
    np.testing.assert_allclose(changed.direction(2 * gradient)[0], 2 * direction, rtol=1e-12)
    down, slope = curvature.forgotten().direction(gradient)
    np.testing.assert_array_equal(down, -gradient)
    assert slope == pytest.approx(-gradient @ gradient, rel=1e-12)


def _two_loops(pairs, gradient):
    vector, shares = gradient.copy(), []
    for step, change in reversed(pairs):
        shares.append(step @ vector / (step @ change))
        vector -= shares[-1] * change
    step, change = pairs[-1]
    vector *= step @ change / (change @ change)
    for (step, change), share in zip(pairs, reversed(shares), strict=True):
        vector += (share - change @ vector / (step @ change)) * step
    return vector


def test_stops_after_the_last_iteration():
    result = minimise(rosenbrock, np.full(30, -1.2), LBFGS(n_iterations=5))
    assert result.n_iterations == 5
    assert "the most that were allowed" in result.reason


def test_infinite_losses_are_stepped_around():
    """-log(1 - w) - log w is infinite outside (0, 1), where the first long steps end."""

    def barrier(weights):
        (w,) = weights
        if not 0 < w < 1:
            return np.inf, np.zeros(1)
        return float(-np.log(w) - np.log1p(-w)), np.array([1 / (1 - w) - 1 / w])

    result = minimise(barrier, np.array([0.99]), LBFGS(**EXACT))
    np.testing.assert_allclose(result.weights, 0.5, atol=1e-8, rtol=0)
    with pytest.raises(ValueError, match="the loss at the first weights is inf"):
        minimise(barrier, np.array([2.0]))


def test_stops_at_the_limit_of_the_arithmetic():
    never = LBFGS(gradient_tolerance=0.0, loss_tolerance=0.0, n_iterations=10_000)
    result = minimise(logistic_regression(), np.zeros(40), never, penalty=Penalty(l2=1.0))
    assert "as far as the arithmetic allows" in result.reason
    assert result.history[-1].gradient_norm < 1e-8


def test_stops_when_the_loss_hardly_falls():
    result = minimise(rosenbrock, np.full(30, -1.2), LBFGS(loss_tolerance=0.5))
    assert "(loss_tolerance)" in result.reason


def test_lbfgs_refuses_l1_and_functions_have_no_batches():
    with pytest.raises(ValueError, match="Use OWLQN"):
        minimise(rosenbrock, np.zeros(2), LBFGS(), penalty=Penalty(l1=1.0))
    with pytest.raises(TypeError, match="which has no batches"):
        minimise(rosenbrock, np.zeros(2), Adam())


@pytest.mark.parametrize("n", [1, 7, BLOCK - 1, BLOCK + 5, 2 * CHUNK + 3])
def test_arithmetic_on_vectors(n):
    rng = np.random.default_rng(n)
    rows = rng.normal(size=(5, n))
    singles = rows[:2].astype(np.float32)
    coefficients = np.array([0.5, -2.0, 1.0])
    np.testing.assert_allclose(dot(rows[0], rows[1]), rows[0] @ rows[1], rtol=1e-10, atol=1e-9)
    one, two = (
        pair_products(singles, (0.5, rows[0]), (rows[1], rows[3]), rows[4], n_threads)
        for n_threads in (1, 2)
    )
    step, change = (0.5 * rows[0]).astype(np.float32), (rows[1] - rows[3]).astype(np.float32)
    np.testing.assert_array_equal(one[:2], [step, change])
    both, columns = np.array([*singles, step, change]), np.array([step, change, rows[4]])
    wanted = both.astype(np.float64) @ columns.T
    np.testing.assert_allclose(one[2], wanted, rtol=1e-10, atol=1e-9)
    assert one[2].tobytes() == two[2].tobytes()
    length = norm_of_quotient(rows[0], rows[1])
    np.testing.assert_allclose(length, np.linalg.norm(rows[0] / rows[1]), rtol=1e-12)
    for n_threads in (1, 2):
        found = row_products(singles, rows[4], n_threads)
        np.testing.assert_allclose(found, wanted[:2, 2], rtol=1e-10, atol=1e-9)
        found, along = combination(coefficients, singles, rows[2], n_threads)
        expected = coefficients @ [*singles, rows[2]]
        np.testing.assert_allclose(found, expected, atol=1e-12, rtol=0)
        np.testing.assert_allclose(along, expected @ rows[2], rtol=1e-10, atol=1e-9)
        for scale in (None, np.abs(rows[2])):
            penalty, gradient = Penalty(l2=0.3, scale=scale), rows[1].copy()
            loss = penalty.add_gradient(rows[0], gradient, n_threads)
            assert loss == pytest.approx(penalty.smooth(rows[0]))
            expected = rows[1] + 0.3 * rows[0] * (1.0 if scale is None else scale)
            np.testing.assert_allclose(gradient, expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("n", [1, 7, 2 * CHUNK + 3])
@pytest.mark.parametrize("is_scaled", [False, True])
def test_arithmetic_in_units(n, is_scaled):
    """With units and a scale, and without."""
    rng = np.random.default_rng(n)
    weights, given, direction = rng.normal(size=(3, n))
    units, scale = rng.uniform(0.5, 2.0, (2, n)) if is_scaled else np.ones((2, n))
    options = {"units": units} if is_scaled else {}
    expected = given + 0.3 * scale * weights
    for n_threads in (1, 2):
        gradient = given.copy()
        found = finish_gradient(
            gradient,
            weights,
            0.3,
            scale if is_scaled else None,
            direction=direction,
            n_threads=n_threads,
            **options,
        )
        np.testing.assert_allclose(gradient, units * expected, atol=1e-12, rtol=0)
        wanted = (scale * weights, weights), (weights, weights), (expected, expected)
        sums = [left @ right for left, right in (*wanted, (units * expected, direction))]
        np.testing.assert_allclose(found, sums, rtol=1e-10, atol=1e-9)
        place = moved(weights, 0.5, direction, n_threads=n_threads, **options)
        np.testing.assert_allclose(place, weights + 0.5 * units * direction, rtol=0, atol=1e-14)


@pytest.mark.parametrize("n", [1, 7, BLOCK + 5, CHUNK + 3])
def test_pairs_in_other_units(n):
    rng = np.random.default_rng(n)
    rows = rng.normal(size=(6, n)).astype(np.float32)
    before, after = rng.uniform(0.5, 2.0, (2, n))
    gradient = rng.normal(size=n)
    expected = np.concatenate([rows[:3] * (before / after), rows[3:] * (after / before)])
    expected = expected.astype(np.float32).astype(np.float64)
    for n_threads in (1, 2):
        copies = [row.copy() for row in rows]
        gram, along = converted_pairs(copies, (before, after), gradient, n_threads)
        np.testing.assert_array_equal(copies, expected)
        np.testing.assert_allclose(gram, expected @ expected.T, rtol=1e-10, atol=1e-9)
        np.testing.assert_allclose(along, expected @ gradient, rtol=1e-10, atol=1e-9)


def mixture_loss(counts, first, second):
    """Minus the log-likelihood of draws from a mixture of two known distributions.

    The weights are the logarithms of the two shares; minus the gradient is the expected number of
    draws from each.
    """

    def loss(weights):
        joint = np.exp(weights)[:, None] * np.stack([first, second])
        evidence = joint.sum(axis=0)
        return float(-counts @ np.log(evidence)), -(joint / evidence) @ counts

    return loss


def test_em_climbs_to_the_most_likely_shares():
    first, second = np.array([0.7, 0.2, 0.1]), np.array([0.1, 0.3, 0.6])
    loss = mixture_loss(1000 * (0.25 * first + 0.75 * second), first, second)
    em = ExpectationMaximisation(
        lambda counts: np.log(counts / counts.sum()), n_iterations=1000, loss_tolerance=1e-14
    )
    result = minimise(loss, np.log([0.5, 0.5]), em)
    np.testing.assert_allclose(np.exp(result.weights), [0.25, 0.75], atol=1e-4, rtol=0)
    losses = [record.loss for record in result.history]
    assert losses == sorted(losses, reverse=True)
    assert "Converged" in result.reason


def test_em_refuses_a_step_that_raises_the_loss():
    first, second = np.array([0.7, 0.2, 0.1]), np.array([0.1, 0.3, 0.6])
    loss = mixture_loss(1000 * (0.25 * first + 0.75 * second), first, second)
    em = ExpectationMaximisation(lambda counts: np.log(counts[::-1] / counts.sum()))
    with pytest.raises(ArithmeticError, match="it can only fall"):
        minimise(loss, np.log([0.3, 0.7]), em)


@pytest.mark.parametrize("options", [{"l2": -1.0}, {"l1": np.inf}, {"scale": np.array([-1.0])}])
def test_penalties_are_checked(options):
    with pytest.raises(ValueError, match=r"0 or more|negative"):
        Penalty(**options)


def test_the_scale_of_a_penalty_fits_the_weights():
    with pytest.raises(ValueError, match=r"expected \(2,\)"):
        Penalty(scale=np.ones(3)).check(2)


class RandomLikelihood(Likelihood):
    is_random = True


@pytest.mark.parametrize(
    "optimiser", [LBFGS(), OWLQN(), ExpectationMaximisation(lambda counts: counts)]
)
def test_random_gradients_are_for_mini_batches(optimiser):
    batches = [replace(b, targets={"noisy": b.targets["Likelihood"]}) for b in chain_batches()]
    corpus = MemoryCorpus(RandomLikelihood().named("noisy"), batches)
    with pytest.raises(ValueError, match="the term noisy draws its loss and gradient at random"):
        train(corpus, optimiser)
    assert train(corpus, Adam(n_iterations=2)).n_iterations == 2
