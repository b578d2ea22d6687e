"""CRF and TreeCRF: by enumeration, and beside pytorch-crf, torch-struct where these are there."""

import itertools

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

import partita.torch as ptt
from partita.data.schemes import allowed_transitions
from partita.torch.nn import CRF, Biaffine, TreeCRF
from spanning import all_spanning_trees

MASK = torch.tensor([[1, 1, 1, 1], [1, 0, 0, 0], [1, 1, 1, 0]])
HOLES = torch.tensor([[1, 0, 1, 1], [0, 1, 0, 1], [1, 1, 1, 1]])


@pytest.fixture
def crf():
    torch.manual_seed(0)
    layer = CRF(3, batch_first=True).double()
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter)
    return layer


@pytest.fixture
def emissions():
    torch.manual_seed(1)
    return torch.randn(3, 4, 3, dtype=torch.float64, requires_grad=True)


def totals(crf, emissions):
    """The score of every tag sequence of one sentence, by the definition."""
    found = {}
    for tags in itertools.product(range(crf.num_tags), repeat=len(emissions)):
        score = crf.start_transitions[tags[0]] + crf.end_transitions[tags[-1]]
        score = score + sum(row[tag] for row, tag in zip(emissions, tags, strict=True))
        score = score + sum(crf.transitions[pair] for pair in itertools.pairwise(tags))
        found[tags] = score.item()
    return found


@pytest.mark.parametrize("mask", [None, MASK, HOLES, HOLES.bool()], ids=str)
def test_crf_by_enumeration(crf, emissions, mask):
    words = torch.ones_like(MASK) if mask is None else mask
    tags = torch.randint(3, MASK.shape)
    log_probs = crf(emissions, tags, mask, reduction="none")
    best, marginals = crf.decode(emissions, mask), crf.marginals(emissions, mask)
    listed = crf.k_best(emissions, 5, mask)
    for sentence in range(3):
        there = words[sentence].bool()
        found = totals(crf, emissions[sentence, there])
        log_partition = np.logaddexp.reduce(list(found.values()))
        expected = found[tuple(tags[sentence, there].tolist())] - log_partition
        assert log_probs[sentence].item() == pytest.approx(expected, abs=1e-9)
        order = sorted(found, key=found.get, reverse=True)
        assert tuple(best[sentence]) == order[0]
        assert [tuple(tags) for tags, _ in listed[sentence]] == order[:5]
        np.testing.assert_allclose(
            [log_prob for _, log_prob in listed[sentence]],
            [found[tags] - log_partition for tags in order[:5]],
            atol=1e-9,
        )
        shares = np.zeros((there.sum(), 3))
        for sequence, score in found.items():
            shares[range(len(sequence)), sequence] += np.exp(score - log_partition)
        np.testing.assert_allclose(marginals[sentence, there].detach(), shares, atol=1e-9)
        assert (marginals[sentence, ~there] == 0).all()


def test_crf_gradients_and_reductions(crf, emissions):
    tags = torch.randint(3, MASK.shape)
    assert gradcheck(lambda e: crf(e, tags, HOLES), (emissions,))
    assert gradcheck(lambda e: crf.marginals(e, HOLES), (emissions,))
    each = crf(emissions, tags, MASK, reduction="none")
    assert crf(emissions, tags, MASK).item() == pytest.approx(each.sum().item())
    assert crf(emissions, tags, MASK, "mean").item() == pytest.approx(each.mean().item())
    expected = each.sum().item() / MASK.sum().item()
    assert crf(emissions, tags, MASK, "token_mean").item() == pytest.approx(expected)
    with pytest.raises(ValueError, match="reduction is 'max'; expected one of none, sum"):
        crf(emissions, tags, MASK, "max")


def test_words_first(crf, emissions):
    turned = CRF(3).double()
    turned.load_state_dict(crf.state_dict())
    tags = torch.randint(3, MASK.shape)
    assert torch.equal(
        turned(emissions.transpose(0, 1), tags.T, HOLES.T), crf(emissions, tags, HOLES)
    )
    assert turned.decode(emissions.transpose(0, 1), HOLES.T) == crf.decode(emissions, HOLES)
    assert torch.equal(
        turned.marginals(emissions.transpose(0, 1), HOLES.T).transpose(0, 1),
        crf.marginals(emissions, HOLES),
    )


def test_samples_follow_the_marginals(crf, emissions):
    samples = crf.sample(emissions, 3000, MASK, np.random.default_rng(0))
    for sentence, n_words in enumerate(MASK.sum(dim=1).tolist()):
        drawn = np.eye(3)[np.array(samples[sentence])].mean(axis=0)
        expected = crf.marginals(emissions, MASK)[sentence, :n_words].detach()
        np.testing.assert_allclose(drawn, expected, atol=0.04)


def test_hard_constraints():
    tags = ["O", "B-X", "I-X"]
    crf = CRF(3, batch_first=True, allowed=allowed_transitions(tags, "IOB2"))
    emissions = torch.zeros(1, 3, 3)
    emissions[..., 2] = 9.0  # every word would be inside a chunk
    assert crf.decode(emissions) == [[1, 2, 2]]
    assert crf(emissions, torch.tensor([[2, 2, 2]])).item() == -np.inf
    crf(emissions, torch.tensor([[1, 2, 2]])).backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in crf.parameters())
    assert crf.start_transitions.grad[2] == 0
    allowed = {tuple(tags) for tags, _ in crf.k_best(emissions, 99)[0]}
    # Of 27 sequences, those in which I-X follows B-X or I-X.
    assert len(allowed) == 13
    with pytest.raises(ValueError, match="allowed.first .* expected booleans of shape"):
        CRF(4, allowed=allowed_transitions(tags, "IOB2"))


def test_crf_mistakes(crf):
    with pytest.raises(ValueError, match="num_tags is 0"):
        CRF(0)
    with pytest.raises(ValueError, match="emissions have shape"):
        crf.decode(torch.zeros(2, 3, 4))
    with pytest.raises(ValueError, match="mask has shape"):
        crf.decode(torch.zeros(2, 4, 3), torch.ones(2, 3))
    with pytest.raises(ValueError, match="tags have shape"):
        crf(torch.zeros(2, 4, 3), torch.zeros(2, 3, dtype=torch.int64))
    with pytest.raises(ValueError, match="An empty sentence has no structure"):
        crf.decode(torch.zeros(2, 4, 3), torch.tensor([[1, 1, 1, 1], [0, 0, 0, 0]]))


def test_a_batch_without_sentences_has_answers():
    none = torch.zeros(0, 5, 3)
    assert CRF(3, batch_first=True).decode(none) == []
    heads, labels = TreeCRF(3, 2, n_arc_units=2, n_label_units=2).decode(none)
    assert heads.shape == labels.shape == (0, 5)


def test_layers_in_bfloat16(crf, emissions):
    expected = crf(emissions, torch.zeros(3, 4, dtype=torch.long))
    halves = emissions.detach().bfloat16().requires_grad_()
    found = crf.bfloat16()(halves, torch.zeros(3, 4, dtype=torch.long))
    found.backward()
    assert found.dtype == halves.grad.dtype == crf.start_transitions.grad.dtype == torch.bfloat16
    assert found.item() == pytest.approx(expected.item(), rel=0.05)


@pytest.mark.filterwarnings("ignore:where received a uint8 condition tensor")
@pytest.mark.parametrize("batch_first", [False, True])
def test_crf_beside_pytorch_crf(batch_first):
    torchcrf = pytest.importorskip("torchcrf")
    torch.manual_seed(0)
    theirs = torchcrf.CRF(5, batch_first=batch_first).double()
    ours = CRF(5, batch_first=batch_first).double()
    ours.load_state_dict(theirs.state_dict())
    shape = (4, 7) if batch_first else (7, 4)
    emissions = torch.randn(*shape, 5, dtype=torch.float64, requires_grad=True)
    tags = torch.randint(5, shape)
    mask = torch.arange(7)[None] < torch.tensor([[7], [1], [3], [6]])
    mask = mask if batch_first else mask.T
    for reduction in ("none", "sum", "mean", "token_mean"):
        gradients = []
        for layer in (theirs, ours):
            layer.zero_grad()
            emissions.grad = None
            loss = layer(emissions, tags, mask, reduction=reduction)
            loss.sum().backward()
            found = [loss, emissions.grad, *(p.grad for p in layer.parameters())]
            gradients.append([tensor.detach().clone().numpy() for tensor in found])
        for its, mine in zip(*gradients, strict=True):
            np.testing.assert_allclose(mine, its, atol=1e-9)
    assert ours.decode(emissions, mask) == theirs.decode(emissions, mask)
    assert ours.decode(emissions) == theirs.decode(emissions)


def test_tree_crf_by_enumeration():
    torch.manual_seed(0)
    layer = TreeCRF(4, 2, n_arc_units=3, n_label_units=3).double()
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter)
    layer.eval()
    vectors = torch.randn(1, 3, 4, dtype=torch.float64, requires_grad=True)
    arcs = layer.arcs(vectors)[0].detach().numpy()
    trees, counts = all_spanning_trees(arcs.shape, single_root=True)
    scores = counts @ arcs.ravel()
    heads = torch.tensor(np.array(trees))
    many = vectors.expand(len(heads), -1, -1)
    log_probs = layer(many, heads, reduction="none").detach()
    np.testing.assert_allclose(log_probs, scores - np.logaddexp.reduce(scores), atol=1e-9)
    # With labels the probabilities of all labelled trees sum to one.
    labellings = list(itertools.product(range(2), repeat=3))
    labelled = [
        layer(many, heads, torch.tensor([labels]).expand(len(heads), -1), reduction="none")
        for labels in labellings
    ]
    assert torch.cat(labelled).exp().sum().item() == pytest.approx(1.0, abs=1e-9)
    best, labels = layer.decode(vectors)
    assert best[0].tolist() == list(trees[int(scores.argmax())])
    # The tree of least risk has the largest sum of probabilities.
    shares = np.exp(scores - np.logaddexp.reduce(scores)) @ counts
    risky, _ = layer.decode(vectors, least_risk=True)
    assert risky[0].tolist() == list(trees[int((counts @ shares).argmax())])
    given_best = [layer(vectors, best, torch.tensor([labels])).item() for labels in labellings]
    assert tuple(labels[0].tolist()) == labellings[int(np.argmax(given_best))]
    assert gradcheck(lambda x: layer(x, best, labels), (vectors,))
    assert gradcheck(lambda x: layer.distribution(x).entropy, (vectors,))


def test_tree_crf_with_padding():
    torch.manual_seed(0)
    layer = TreeCRF(4, 2, n_arc_units=3, n_label_units=3, projective=True).eval()
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter)
    vectors, mask = torch.randn(3, 4, 4), MASK.bool()
    heads, labels = layer.decode(vectors, mask)
    assert torch.equal(heads == -1, ~mask)
    assert torch.equal(labels == -1, ~mask)
    together = layer(vectors, heads, labels, mask, reduction="none")
    for sentence, n_words in enumerate(mask.sum(dim=1).tolist()):
        alone = [tensor[sentence : sentence + 1, :n_words] for tensor in (vectors, heads, labels)]
        assert layer(*alone).item() == pytest.approx(together[sentence].item(), rel=1e-5)
        assert torch.equal(layer.decode(alone[0])[0], alone[1])
    assert isinstance(layer.distribution(vectors, mask), ptt.ProjectiveTree)
    with pytest.raises(ValueError, match="has no labels"):
        TreeCRF(4).label_scores(vectors, heads)


@pytest.mark.parametrize("projective", [False, True])
def test_tree_crf_with_holes(projective):
    torch.manual_seed(0)
    layer = TreeCRF(4, 2, n_arc_units=3, n_label_units=3, projective=projective).eval()
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter)
    vectors, mask = torch.randn(3, 4, 4), HOLES.bool()
    heads, labels = layer.decode(vectors, mask)
    assert torch.equal(heads == -1, ~mask)
    together = layer(vectors, heads, labels, mask, reduction="none")
    for sentence, there in enumerate(mask):
        # Closed up, heads count the words that are there.
        places = torch.cat([torch.zeros(1, dtype=torch.long), there.cumsum(0)])
        alone = [
            vectors[sentence, there],
            places[heads[sentence, there]],
            labels[sentence, there],
        ]
        found = layer(*(tensor[None] for tensor in alone))
        assert found.item() == pytest.approx(together[sentence].item(), rel=1e-5)


@pytest.mark.parametrize("label", [-1, 2])
def test_a_label_that_is_none_is_refused_where_there_is_a_word(label):
    layer, vectors = TreeCRF(4, 2, n_arc_units=3, n_label_units=3), torch.randn(1, 3, 4)
    heads, labels = torch.tensor([[0, 1, -1]]), torch.tensor([[0, label, label]])
    with pytest.raises(ValueError, match=rf"labels\[0, 1\] is {label}; expected 0 to 1"):
        layer(vectors, heads, labels, torch.tensor([[1, 1, 0]]))
    with pytest.raises(ValueError, match=r"labels have shape \(1, 2\); expected \(1, 3\)"):
        layer(vectors, heads, labels[:, :2], torch.tensor([[1, 1, 0]]))
    # What stands at a place without a word does not matter.
    assert torch.isfinite(layer(vectors, heads, labels.clamp(0, 1), torch.tensor([[1, 1, 0]])))


def test_biaffine():
    torch.manual_seed(0)
    layer = Biaffine(2, 3, n_outputs=2)
    torch.nn.init.normal_(layer.weights)
    left, right = torch.randn(1, 4, 2), torch.randn(1, 4, 3)
    pairs = layer.pairs(left, right)
    x, y = torch.cat([left[0, 1], torch.ones(1)]), torch.cat([right[0, 2], torch.ones(1)])
    expected = torch.stack([x @ weights @ y for weights in layer.weights])
    torch.testing.assert_close(pairs[0, 1, 2], expected)
    torch.testing.assert_close(layer.rows(left, right), pairs[0].diagonal().T[None])


def test_dropout_is_shared_by_the_words_of_a_sentence():
    torch.manual_seed(0)
    layer = TreeCRF(4, dropout=0.5).arc_heads.train()
    zeros = layer(torch.randn(2, 5, 4)) == 0
    assert (zeros.all(dim=1) | ~zeros.any(dim=1)).all()
    assert 0.3 < zeros.double().mean() < 0.7


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("kind", ["DependencyCRF", "NonProjectiveDependencyCRF"])
def test_trees_beside_torch_struct(kind, single_root):
    torch_struct = pytest.importorskip("torch_struct")
    torch.manual_seed(0)
    scores = torch.randn(3, 5, 5, dtype=torch.float64, requires_grad=True)
    theirs = getattr(torch_struct, kind)(scores, multiroot=not single_root)
    # Their root scores stand on the diagonal.
    diagonal = torch.eye(5, dtype=torch.bool)
    arcs = torch.nn.functional.pad(scores.masked_fill(diagonal, 0.0), (1, 0, 1, 0))
    root = torch.nn.functional.pad(scores.diagonal(dim1=1, dim2=2), (1, 0))
    arcs = torch.cat([root[:, None], arcs[:, 1:]], dim=1)
    trees = ptt.ProjectiveTree if kind == "DependencyCRF" else ptt.SpanningTree
    ours = trees(arcs, single_root=single_root)
    # They add 1e-5 to the weight of every arc of a spanning tree.
    tolerance = 1e-9 if kind == "DependencyCRF" else 1e-3
    np.testing.assert_allclose(
        ours.log_partition.detach(), theirs.partition.detach(), atol=tolerance
    )
    gradients = [
        torch.autograd.grad(total.sum(), scores, retain_graph=True)[0]
        for total in (ours.log_partition, theirs.partition)
    ]
    np.testing.assert_allclose(*gradients, atol=tolerance)


@pytest.mark.filterwarnings("ignore")
def test_chains_beside_torch_struct():
    torch_struct = pytest.importorskip("torch_struct")
    torch.manual_seed(0)
    tables = torch.randn(3, 4, 3, 3, dtype=torch.float64, requires_grad=True)
    theirs = torch_struct.LinearChainCRF(tables)  # [next, previous]
    unary = torch.zeros(3, 5, 3, dtype=torch.float64)
    ours = ptt.LinearChain(unary, tables.transpose(2, 3))
    np.testing.assert_allclose(ours.log_partition.detach(), theirs.partition.detach(), atol=1e-9)
    np.testing.assert_allclose(ours.entropy.detach(), theirs.entropy.detach(), atol=1e-9)
    np.testing.assert_allclose(
        ours.marginals.pairwise.detach(), theirs.marginals.transpose(2, 3).detach(), atol=1e-9
    )
