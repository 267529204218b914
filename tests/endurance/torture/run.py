"""One run: rounds of topics, queries, faults and checks, until the time is over."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path

from kafka_protocol.arrow_io.topic import create_topic
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.addressed import lengths
from tests.endurance.torture.cases import Case
from tests.endurance.torture.copies.run import CopiesResult, copy_under_faults
from tests.endurance.torture.cut_down import CutDown
from tests.endurance.torture.fault_rounds import FaultEvent, FaultLog, faults_come_and_go
from tests.endurance.torture.judge import Ran, check_written, run_query
from tests.endurance.torture.queries import THREADS, WAYS, Query, draw, read_options, writes
from tests.endurance.torture.results import PROBLEMS, Result, RunResult, Status
from tests.endurance.torture.rows import Truth, text_of
from tests.endurance.torture.sail_process import Sail
from tests.endurance.torture.scene import Scene, running
from tests.endurance.torture.session import session, workers
from tests.endurance.torture.topics import draw_change, draw_plan
from tests.endurance.torture.ways.place import Place
from tests.overload import is_overload
from tests.truth.addressed import longer

Show = Callable[[str], None]

_NEW_TOPICS = 3
# Topics of the round before, which are changed and read again.
_KEPT_TOPICS = 2
_QUERIES = 24
# Queries at a time; they wait for brokers most of the time.
_LANES = 3
# Every third round has no faults, and these rounds have one session.
_CALM = 3
_ROUNDS_OF_SESSION = 6
# Copies take turns with these sessions.
_ROUNDS_OF_COPIES = 10
COPIES = "copies"
"""The way that runs alone, in a session of its own."""
STALL_SECONDS = 30
"""A copy must have got something by then, after all faults of a round are repaired."""
_MOST_RUNS = 3
_COMMIT_LOG = "pykafka-commit-log"


class Run:
    """The state of a run between its rounds."""

    def __init__(
        self, scene: Scene, folder: Path, seed: int, ways: Sequence[str], queries: int, show: Show
    ) -> None:
        self.results: list[Result] = []
        self.problems: list[str] = []
        self.rounds = 0
        self.topics = 0
        self.records = 0
        self.restarts = 0
        self.cut_down = CutDown(scene, folder, show)
        self._scene = scene
        self._folder = folder
        self._seed = seed
        self._ways = ways
        self._queries = queries
        self._show = show
        self.copies: list[CopiesResult] = []
        self._truth: Truth = {}
        self._faulty = False
        self._is_proxied = False
        self._begun = scene.begun
        self._begun_ms = int(time.time() * 1_000)

    @property
    def faults(self) -> list[FaultEvent]:
        """All that came, with their times in seconds of the run."""
        return [
            each._replace(began=each.began - self._begun, ended=each.ended - self._begun)
            for each in self._scene.fault_log.events
        ]

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return time.monotonic() - self._begun

    @contextmanager
    def place(self, sail: Sail) -> Iterator[Place]:
        """A session for the next rounds: by Unix sockets or not, through the proxies or not."""
        chance = self._chance("session", self.rounds)
        unix_sockets, self._is_proxied = (chance.random() < 0.5 for _ in range(2))
        servers = self._scene.proxied if self._is_proxied else self._scene.servers
        folder = self._folder / "queries"
        with session(unix_sockets) as spark:
            place = Place(spark, servers, folder, sail, lambda: self._faulty)
            yield place
        self.restarts += place.restarts

    def play(self, place: Place) -> None:
        """Plays the next round."""
        number = self.rounds
        began = self.seconds
        truth = self._topics(number)
        jobs = self._draw(number, truth)
        place.prepare_topics(sum(writes(query) for job in jobs for query in job))
        calm = number % _CALM == _CALM - 1
        log = self._faults(number, calm)
        with log as faults, ThreadPoolExecutor(_LANES) as lanes:
            self._faulty = not calm
            done = [*lanes.map(lambda job: _run(place, job, truth), jobs)]
        self._faulty = False
        results = []
        for each, ran in enumerate(ran for job in done for ran in job):
            results.append(self._judge(place, number, each, ran, truth, faults))
        self.results += results
        self.problems += self._strays(number, truth)
        self.rounds += 1
        self._show(self._line(number, calm, began, results))

    def play_some(self, place: Place, deadline: Deadline) -> None:
        """Plays the rounds of a session."""
        for _ in range(_ROUNDS_OF_SESSION):
            self.play(place)
            if deadline.has_passed:
                return

    def copy(self, seconds: float, stall_seconds: float) -> None:
        """Plays a session of copies; if there is nothing else, until the time is over."""
        number = len(self.copies)
        result = copy_under_faults(
            self._scene,
            self._folder / f"{COPIES}-{number}",
            self._chance(COPIES, number),
            _ROUNDS_OF_COPIES if self._ways else None,
            seconds,
            stall_seconds,
            self._show,
        )
        self.copies.append(result)
        self.problems += result.problems

    def _chance(self, *what: object) -> random.Random:
        return random.Random("/".join(map(str, (self._seed, *what))))

    def _topics(self, number: int) -> Truth:
        """New topics, and some of the round before that are changed."""
        chance = self._chance("changes", number)
        names = sorted(self._truth)
        kept = chance.sample(names, min(_KEPT_TOPICS, len(names)))
        self._delete([name for name in names if name not in kept])
        changed = {}
        for name in kept:
            truth = self._truth[name]
            for step in draw_change(chance, truth.plan):
                truth = self._scene.change(truth, step)
            changed[name] = truth
        plans = [
            draw_plan(self._chance("topic", number, each), self._name(number, each))
            for each in range(_NEW_TOPICS)
        ]
        self._truth = changed | dict(self._scene.write_all(plans))
        self.topics += len(plans)
        self.records += sum(
            len(each.uncommitted) for of in self._truth.values() for each in of.partitions.values()
        )
        return self._truth

    def _strays(self, number: int, truth: Truth) -> list[str]:
        """A sentence if queries wrote into the topics that they read."""
        wanted = {
            name: sum(each.end for each in topic.partitions.values())
            for name, topic in truth.items()
        }
        found = longer(lengths(self._scene.servers), wanted)
        return [f"round {number}: rows that nobody addressed to {found}"] if found else []

    def _name(self, number: int, each: int) -> str:
        return f"torture-{self._seed}-{number}-{each}"

    def _delete(self, topics: Sequence[str]) -> None:
        """Topics that no query needs any more."""
        for topic in topics:
            self._scene.remove(topic)

    def _draw(self, number: int, truth: Truth) -> list[list[Query]]:
        jobs = []
        for each in range(self._queries):
            chance = self._chance("query", number, each)
            way = chance.choices(self._ways, [WAYS[name] for name in self._ways])[0]
            count = THREADS if way == "threads" else 1
            jobs.append([draw(chance, truth, self._begun_ms, way) for _ in range(count)])
        return jobs

    def _faults(self, number: int, calm: bool) -> AbstractContextManager[FaultLog | None]:
        if calm:
            return nullcontext()
        settle = self._scene.admin.wait_for_replicas
        stage = self._scene.stage(workers, settle, is_proxied=self._is_proxied)
        chance = self._chance("faults", number)
        return faults_come_and_go(stage, chance, self._scene.fault_log)

    def _judge(
        self,
        place: Place,
        number: int,
        each: int,
        first: Ran,
        truth: Truth,
        faults: FaultLog | None,
    ) -> Result:
        """Judges a query; one that a fault failed runs again."""
        names = faults.during(first.began, first.ended) if faults else ()
        ran = first
        if first.error and (faults is not None or is_overload(first.error)):
            ran = _run_again(place, first.query, truth)
        ran = self._checked(ran, truth)
        status = _status(ran, again=ran is not first and bool(first.error))
        text = first.error if status is Status.AGAIN else self._text(ran)
        if status in PROBLEMS:
            self.problems.append(f"round {number}, query {each}: {text}")
            self._show(f"  PROBLEM: {self.problems[-1]}")
            if ran.difference is not None:
                self.cut_down.keep(place, ran, truth)
        began, seconds = first.began - self._begun, first.ended - first.began
        way = first.query.way
        return Result(number, each, way, began, seconds, names, status, ran.rows, text)

    def _checked(self, ran: Ran, truth: Truth) -> Ran:
        checked = check_written(self._scene.servers, ran, truth)
        if ran.written is not None and checked.difference is None:
            self._delete([ran.written.topic])
        return checked

    def _text(self, ran: Ran) -> str:
        """What happened, and how it can be repeated."""
        if not ran.error and ran.difference is None:
            return ""
        what = ran.error if ran.difference is None else text_of(ran.difference)
        query = ran.query
        return "\n".join(
            [
                f"{query.way}: {what}",
                f"  options {read_options(query)}",
                f"  {query!r}",
                f"  seed {self._seed}; again: make torture SEED={self._seed}",
            ]
        )

    def _line(self, number: int, calm: bool, began: float, results: Sequence[Result]) -> str:
        names = ", ".join(sorted({name for each in results for name in each.faults}))
        again = sum(each.status is Status.AGAIN for each in results)
        return (
            f"{self.seconds:6.0f} s  round {number}: {len(results)} queries in "
            f"{self.seconds - began:.0f} s, {sum(each.rows for each in results):,} rows; "
            f"{'no faults' if calm else names or 'no fault came'}; {again} ran again"
        )


def _run(place: Place, job: Sequence[Query], truth: Truth) -> list[Ran]:
    """Runs the queries of a job at once."""
    with ThreadPoolExecutor(len(job)) as threads:
        return [*threads.map(lambda query: run_query(place, query, truth), job)]


def _run_again(place: Place, query: Query, truth: Truth) -> Ran:
    """Runs a query without faults; again, while the machine is too busy for Spark."""
    for _ in range(_MOST_RUNS):
        ran = run_query(place, query, truth)
        if not is_overload(ran.error):
            break
    return ran


def _status(ran: Ran, *, again: bool) -> Status:
    if ran.error:
        return Status.FAILED
    if ran.difference is not None:
        return Status.DIFFERENT
    return Status.AGAIN if again else Status.RIGHT


def run(
    folder: Path,
    seed: int,
    minutes: float,
    show: Show = print,
    ways: Sequence[str] = (*WAYS, COPIES),
    queries: int = _QUERIES,
    stall_seconds: float = STALL_SECONDS,
) -> RunResult:
    """Sessions of queries, and of copies, for so many minutes.

    Args:
        folder: For the brokers' data and the files of queries.
        seed: Fixes all that is drawn.
        show: Gets a line about each round, and each problem.
        ways: Those of WAYS that are drawn, and COPIES.
        queries: Of each round; eight threads count as one.
        stall_seconds: For how long no copy may stand still after its faults.
    """
    of_queries = tuple(way for way in ways if way != COPIES)
    with _prepared(folder, seed, of_queries, queries, show) as (played, sail):
        deadline = Deadline(minutes * 60)
        while not deadline.has_passed:
            if of_queries:
                with played.place(sail) as place:
                    played.play_some(place, deadline)
            if COPIES in ways and not deadline.has_passed:
                played.copy(minutes * 60 - played.seconds, stall_seconds)
        return RunResult(
            seed,
            played.seconds,
            played.rounds,
            played.topics,
            played.records,
            played.restarts,
            played.results,
            played.faults,
            played.copies,
            played.problems,
        )


def run_case(folder: Path, case: Case, show: Show = print) -> bool:
    """Whether a case still shows a difference."""
    with (
        _prepared(folder, 0, (case.query.way,), 1, show) as (played, sail),
        played.place(sail) as place,
    ):
        return played.cut_down.differs(place, case)


@contextmanager
def _prepared(
    folder: Path, seed: int, ways: Sequence[str], queries: int, show: Show
) -> Iterator[tuple[Run, Sail]]:
    with ExitStack() as stack:
        scene = stack.enter_context(running(folder))
        sail = Sail(folder)
        stack.callback(sail.close)
        # It exists before a broker is down, so that it has all its replicas.
        create_topic(
            _COMMIT_LOG,
            {"bootstrap.servers": scene.servers},
            replication_factor=3,
            configs={"cleanup.policy": "compact"},
        )
        yield Run(scene, folder, seed, _possible(ways, show), queries, show), sail


def _possible(ways: Sequence[str], show: Show) -> Sequence[str]:
    others = [way for way in ways if not way.startswith("sail")]
    if Sail.is_installed() or others == [*ways]:
        return ways
    show("there is no .venv-sail: nothing runs on Sail")
    return others
