"""A sweep on a cluster of several nodes, of which one is lost."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from runner.store import Store


@pytest.mark.slow
def test_a_killed_node_leaves_the_store_of_an_undisturbed_run(
    undisturbed: Any, folder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ray.cluster_utils import Cluster

    original, study, _ = undisturbed
    # Ray 2.60 asks for a token as soon as any local Ray has made one (reference/cluster.md).
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "memory": 3 * 10**9})
    try:
        lost = cluster.add_node(num_cpus=1, memory=3 * 10**9)
        cluster.wait_for_nodes()
        killer = threading.Thread(
            target=_kill_after_rows, args=[folder.path / "lost", cluster, lost], daemon=True
        )
        killer.start()
        said = folder.sweep(study, "lost", "--address", cluster.address)
        killer.join(5)
        assert not killer.is_alive(), "the run ended before the node was killed"
    finally:
        cluster.shutdown()
    assert said["outcomes"] == {"ok": said["planned"]}
    assert folder.scores("lost") == original.scores("results")


def _kill_after_rows(results: Any, cluster: Any, node: Any) -> None:
    while True:
        if (results / "attempts/_delta_log").exists():
            rows = Store.open(results).query("select count(*) as n from attempts")
            if rows["n"][0].as_py() >= 5:
                cluster.remove_node(node, allow_graceful=False)
                return
        time.sleep(0.1)
