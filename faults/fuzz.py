"""Feeds changed and random input to everything that reads input, and watches for crashes, hangs and memory.

One process works and another watches it. Before each input is tried it is written to a file. An input that takes more
than 5 seconds of processor time ends the working process by a signal, even inside C code, and one that needs more than
300 MB beyond what the process had is reported; so is any error that is not Ricordo's own. A failing input is kept, with
the command that tries it again. Targets stand in ``fuzz_targets``, mutations in ``fuzz_inputs``.

    python faults/fuzz.py --seconds 600 --seed 1
    python faults/fuzz.py --again KEPT/3-query.bin --only query
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from pathlib import Path

SECONDS = 5.0
"""Processor time that one input may take."""
WALL_SECONDS = 300
"""Time that one input may take by the clock, on a machine that is busy with other work."""
MEGABYTES = 300
"""Memory that one input may need beyond what the process had."""
HERE = Path(__file__).parent


def memory(field: str) -> float:
    """A line of the process's status, in MB; only Linux has it."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith(field):
                return int(line.split()[1]) / 1024
    return 0.0


def forget_peak() -> bool:
    """Let the system count the process's largest memory from now; only Linux can."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def work(place: Path, seconds: float, seed: int, only: str, again: Path | None) -> int:
    """The working process: try inputs until the time is over. What is wrong is printed as ``FAILED``."""
    os.environ |= {f"RICORDO_{name}_HOME": str(place / name.lower()) for name in ("CONFIG", "DATA", "STATE")}
    os.environ["HOME"] = str(place)
    os.chdir(place)
    from fuzz_targets import targets

    known = {name: target for name, target in targets(place).items() if not only or only == name}
    trace = (place / "trace").open("w")
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
        faulthandler.register(number, file=trace, all_threads=True, chain=True)
    faulthandler.enable(file=trace)
    chance = random.Random(seed)
    if again is not None:
        return tried(next(iter(known)), next(iter(known.values())), again.read_bytes(), place)
    counts = dict.fromkeys(known, 0)
    slowest = (0.0, "")
    largest = (0.0, "")
    failed = 0
    names = list(known)
    until, told = time.monotonic() + seconds, time.monotonic()
    while time.monotonic() < until:
        name = chance.choice(names)
        data = known[name].input(chance)
        (place / "input").write_bytes(name.encode() + b"\n" + data)
        can_measure = forget_peak()
        before, started = memory("VmRSS"), time.process_time()
        failed += tried(name, known[name], data, place)
        counts[name] += 1
        slowest = max(slowest, (time.process_time() - started, name))
        if can_measure:
            grown = memory("VmHWM") - before
            largest = max(largest, (grown, name))
            if grown > MEGABYTES:
                failed += say(place, name, data, f"{grown:.0f} MB")
        if time.monotonic() - told > 60:
            told = time.monotonic()
            print(
                f"{sum(counts.values()):,} inputs, {failed} failed; slowest {slowest[0]:.2f} s ({slowest[1]}), "
                f"largest {largest[0]:.0f} MB ({largest[1]}), process {memory('VmRSS'):.0f} MB",
                flush=True,
            )
            gc.collect()
    print(f"inputs by target: {counts}")
    print(
        f"DONE {sum(counts.values())} inputs; slowest {slowest[0]:.2f} s ({slowest[1]}); largest {largest[0]:.0f} MB "
        f"({largest[1]}); failed {failed}",
        flush=True,
    )
    return 1 if failed else 0


def tried(name: str, target: object, data: bytes, place: Path) -> int:
    """Try one input; 1 if something is wrong with it."""
    from ricordo.errors import Error

    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.alarm(WALL_SECONDS)
    try:
        target.run(data)  # type: ignore[attr-defined]
    except Error:
        pass
    except BaseException:  # noqa: BLE001 - whatever is not an error of ours is what is looked for
        signal.setitimer(signal.ITIMER_PROF, 0)
        return say(place, name, data, traceback.format_exc()[-1500:])
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
    return 0


def say(place: Path, name: str, data: bytes, what: str) -> int:
    """Keep a failing input, and tell of it."""
    kept = Path(os.environ.get("RICORDO_FUZZ_KEEP", str(place)))
    kept.mkdir(parents=True, exist_ok=True)
    file = kept / f"{len(list(kept.glob('*.bin')))}-{name.replace(' ', '-')}.bin"
    file.write_bytes(data)
    print(
        f"FAILED {name}: {what}\nto repeat: {sys.executable} faults/fuzz.py --again {file} --only '{name}'", flush=True
    )
    return 1


def watch(given: argparse.Namespace) -> int:
    """The watching process: start the worker, and start it anew when an input ended it."""
    until = time.monotonic() + given.seconds
    ended = 0
    code = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RICORDO_FUZZ_KEEP"] = str(given.keep or Path(tempfile.gettempdir()) / f"ricordo-fuzz-{given.seed}")
        while (left := until - time.monotonic()) > 0:
            place = Path(folder) / f"place-{ended}"
            place.mkdir()
            seed = str(given.seed * 1000 + ended)
            command = [sys.executable, str(HERE / "fuzz.py"), "--work", str(place), "--seconds", str(left)]
            done = subprocess.run(
                [*command, "--seed", seed, "--only", given.only], check=False, preexec_fn=bound_memory
            ).returncode
            code = max(code, abs(done))
            if done >= 0:
                break
            ended += 1
            name, _, data = (place / "input").read_bytes().partition(b"\n")
            how = signal.Signals(-done).name
            with suppress(OSError):
                print((place / "trace").read_text()[:3000])
            say(place, name.decode(), data, f"the process was ended by {how}")
    return 1 if code else 0


def bound_memory() -> None:
    """No input may take the machine down: the process gets 4 GB at most."""
    with suppress(ValueError, OSError):  # macOS knows the limit and refuses to set it
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--only", default="", metavar="TARGET", help="Drive this one alone.")
    parser.add_argument("--keep", type=Path, help="Where failing inputs are kept.")
    parser.add_argument("--again", type=Path, metavar="FILE", help="Try one kept input; needs --only.")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work is not None:
        return work(given.work, given.seconds, given.seed, given.only, None)
    if given.again is not None:
        with tempfile.TemporaryDirectory() as folder:
            code = work(Path(folder), 0, 0, given.only, given.again.absolute())
        print("it fails" if code else "it does not fail")
        return code
    again = f"{sys.executable} faults/fuzz.py --seconds {given.seconds:g} --seed {given.seed}"
    print(f"seed {given.seed}; to repeat: {again}", flush=True)
    return watch(given)


if __name__ == "__main__":
    sys.exit(main())
