"""A process that trains on a cluster of two machines, so to speak, one of which is lost."""

import os
import sys
import tempfile

from partita.objectives import Likelihood
from partita.training import cluster
from partita.training.corpora import build_corpus
from partita.training.optimisers import LBFGS
from partita.training.penalties import Penalty
from partita.training.progress import NoDisplay
from partita.training.trainer import train
from small_corpora import chain_batches

OPTIMISER = LBFGS(n_iterations=6, loss_tolerance=0.0)
PENALTY = Penalty(l2=0.5)


def main():
    from ray.cluster_utils import Cluster

    machines = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    second = machines.add_node(num_cpus=1)
    os.environ["RAY_ADDRESS"] = machines.address

    class Losing(NoDisplay):
        """Takes the second machine away after the second iteration, and gives another."""

        def show(self, record):
            if record.iteration == 2:
                machines.remove_node(second)
                machines.add_node(num_cpus=1)

    with tempfile.TemporaryDirectory() as folder:
        corpus = build_corpus(Likelihood(), chain_batches(30), workers="ray:2", cache=folder)
        nodes = cluster.ray_module().nodes()
        result = train(corpus, OPTIMISER, penalty=PENALTY, progress=Losing())
        sys.stdout.write(f"{len(nodes)} {result.weights.tobytes().hex()}")
        corpus.close()
    machines.shutdown()


if __name__ == "__main__":
    main()
