"""Binary constituency trees beside torch-struct's TreeCRF, each through its public door."""

import numpy as np

from benchmarks.timing import Table, best_time, optional, show_help, write_json
from partita import ConstituencyTree

BATCH = 32
SIZES = ((10, None), (25, None), (50, None), (25, 20))


def main() -> None:
    """Log-partition and all marginals, best trees, the covariance product."""
    torch, peer = optional("torch"), optional("torch_struct")
    rng = np.random.default_rng(0)
    table = Table("Microseconds a sentence, batches of 32, one thread")
    headlines = []
    for n_words, n_labels in SIZES:
        shape = (BATCH, n_words, n_words) + (() if n_labels is None else (n_labels,))
        spans, labelled = rng.normal(size=shape), n_labels is not None

        def ours(spans=spans, labelled=labelled):
            return ConstituencyTree(spans, labelled=labelled)

        def theirs(spans=spans, n_words=n_words):
            scores = torch.tensor(spans.reshape(BATCH, n_words, n_words, -1), requires_grad=True)
            lengths = torch.full((BATCH,), n_words)
            peer.TreeCRF(scores, lengths=lengths).partition.sum().backward()

        p = ours()
        _ = p.marginals
        row = {
            "words": n_words,
            "labels": n_labels or "none",
            "marginals": best_time(lambda: ours().marginals) / BATCH * 1e6,
            "best tree": best_time(lambda: ours().argmax) / BATCH * 1e6,
            "covariance product": best_time(lambda: p.covariance_product(spans)) / BATCH * 1e6,
        }
        if torch is not None and peer is not None:
            torch.set_num_threads(1)
            row["torch-struct marginals"] = best_time(theirs, repeats=8) / BATCH * 1e6
            row["torch-struct / partita"] = row["torch-struct marginals"] / row["marginals"]
            if n_words == 25:
                what = "labelled constituency" if labelled else "constituency"
                headlines.append(
                    {
                        "what": f"{what} trees, 25 words, marginals",
                        "ours": f"{row['marginals']:.1f} µs a sentence",
                        "peers": f"torch-struct {row['torch-struct / partita']:.0f} times that",
                    }
                )
        table.add(**row)
    print(table)
    print("\nwritten to", write_json("constituents", [table], headlines))


if __name__ == "__main__":
    show_help(__doc__)
    main()
