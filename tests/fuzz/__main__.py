"""`python -m tests.fuzz [SECONDS]`: run the fuzzer, by default for ten minutes.

Exits with the fuzzer's exit code; the output has a call that reproduces the finding.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.fuzz.seeds import seeds

_ROOT = Path(__file__).parents[2]

# The fuzzer's own memory grows by about 600 bytes per input, so it is restarted.
_ROUND_SECONDS = 60
# Far more than any input of that size may need.
_MAX_INPUT_BYTES = 8192
_MAX_MEMORY_MB = 2048
_MAX_SECONDS_PER_INPUT = 10


def fuzz(seconds: int) -> subprocess.CompletedProcess[str]:
    """Run the fuzzer until the time is over or it has a finding; `stdout` has its output."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder, "corpus")
        corpus.mkdir()
        for number, seed in enumerate(seeds()):
            (corpus / str(number)).write_bytes(seed)
        outputs = []
        for start in range(0, seconds, _ROUND_SECONDS):
            done = _fuzz_once(corpus, min(_ROUND_SECONDS, seconds - start))
            outputs.append(done.stdout)
            if done.returncode:
                break
        done.stdout = "\n".join(outputs)
        return done


def _fuzz_once(corpus: Path, seconds: int) -> subprocess.CompletedProcess[str]:
    """One round; inputs with new coverage are added to the corpus."""
    command = [
        *(sys.executable, "-m", "tests.fuzz.run", str(corpus)),
        f"-max_total_time={seconds}",
        f"-max_len={_MAX_INPUT_BYTES}",
        f"-rss_limit_mb={_MAX_MEMORY_MB}",
        f"-timeout={_MAX_SECONDS_PER_INPUT}",
        f"-artifact_prefix={corpus.parent}/",
        "-verbosity=0",
        "-print_final_stats=1",
    ]
    return subprocess.run(
        command,
        cwd=_ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=seconds + 120,
        check=False,
    )


if __name__ == "__main__":
    done = fuzz(int(sys.argv[1]) if len(sys.argv) > 1 else 600)
    print(done.stdout)  # noqa: T201
    sys.exit(done.returncode)
