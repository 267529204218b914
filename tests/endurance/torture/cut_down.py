"""What is kept of a difference: the brokers' data, and the smallest case that still shows it."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.endurance.torture.cases import Case, on_topics
from tests.endurance.torture.judge import Ran, check_written, run_query
from tests.endurance.torture.queries import THREADS
from tests.endurance.torture.rows import Truth
from tests.endurance.torture.scene import Scene
from tests.endurance.torture.shrink import shrink
from tests.endurance.torture.ways.place import Place

_TRIES = 60


class CutDown:
    """Keeps the differences of a run in its folder."""

    def __init__(self, scene: Scene, folder: Path, show: Callable[[str], None]) -> None:
        self._scene = scene
        self._folder = folder
        self._show = show
        self._count = 0
        self._seen: set[tuple[str, str]] = set()

    def keep(self, place: Place, ran: Ran, truth: Truth) -> None:
        """Copies the brokers' data of a query's topics, then looks for a smaller case.

        Another difference of the same kind in the same way is most likely the same one.
        """
        assert ran.difference is not None
        kind = (ran.query.way, ran.difference.kind)
        if kind in self._seen:
            return
        self._seen.add(kind)
        self._count += 1
        self._copy_data(ran)
        case = Case(tuple(truth[topic].plan for topic in ran.query.topics), ran.query)
        if not self.differs(place, case):
            self._show("  it does not show again on new topics without faults")
            return
        small = shrink(case, lambda each: self.differs(place, each), _TRIES)
        file = self._folder / f"case-{self._count}.txt"
        file.write_text(f"{small!r}\n")
        self._show(f"  the smallest case: {small!r}\n  again: make torture CASE={file}")

    def _copy_data(self, ran: Ran) -> None:
        topics = [*ran.query.topics, *([ran.written.topic] if ran.written else [])]
        to = self._folder / f"data-{self._count}"
        for broker in self._scene.kafka.brokers:
            data = self._scene.kafka.log_dir(broker.node_id)
            for topic in topics:
                for partition in data.glob(f"{topic}-*"):
                    shutil.copytree(partition, to / str(broker.node_id) / partition.name)
        self._show(f"  the brokers' data of its topics: {to}")

    def differs(self, place: Place, case: Case) -> bool:
        """Whether a case shows a difference on new topics; what cannot run does not."""
        names = {plan.topic: f"case-{uuid.uuid4().hex}" for plan in case.plans}
        anew = on_topics(case, names)
        count = THREADS if anew.query.way == "threads" else 1
        try:
            truth = self._scene.write_all(anew.plans)

            def run(_number: int) -> bool:
                ran = run_query(place, anew.query, truth)
                return check_written(place.servers, ran, truth).difference is not None

            with ThreadPoolExecutor(count) as threads:
                return any([*threads.map(run, range(count))])
        except Exception as error:  # noqa: BLE001 - a smaller case that cannot be made
            self._show(f"  not possible: {type(error).__name__}: {error}")
            return False
        finally:
            for topic in names.values():
                self._scene.remove(topic)
