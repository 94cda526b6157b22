"""Memory that is left, and the workers that fit into it."""

import subprocess
import sys
from pathlib import Path

import pytest

from signspot.io.memory import affordable, free_memory


def test_no_more_workers_than_memory_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signspot.io.memory.free_memory", lambda: 1000)
    assert affordable(4, 300) == 3
    assert affordable(2, 300) == 2
    assert affordable(4, 5000) == 1
    monkeypatch.setattr("signspot.io.memory.free_memory", lambda: None)
    assert affordable(4, 5000) == 4


def test_free_memory_is_what_the_computer_and_its_container_leave(tmp_path: Path) -> None:
    assert free_memory(tmp_path) is None
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    2000 kB\n")
    assert free_memory(tmp_path) == 2000 * 1024
    group = tmp_path / "sys/fs/cgroup"
    group.mkdir(parents=True)
    (group / "memory.max").write_text("max\n")
    (group / "memory.current").write_text("300\n")
    assert free_memory(tmp_path) == 2000 * 1024
    (group / "memory.max").write_text("1000\n")
    assert free_memory(tmp_path) == 700


_HELD = """
from signspot.io.memory import give_back

def megabytes():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20

bytearray(16 * 2**20)  # freed at once: from here on glibc keeps blocks of up to this size in its heap
before = megabytes()
blocks = [(bytearray(2 * 2**20), bytearray(50_000)) for _ in range(50)]
kept = [small for _, small in blocks]  # between the large ones, so that the heap cannot simply end earlier
del blocks
held = megabytes() - before
give_back()
print(held, megabytes() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc is asked")
def test_freed_blocks_go_back_to_the_system() -> None:
    """Before they are given back, 100 MB that are free stay with the process."""

    done = subprocess.run([sys.executable, "-c", _HELD], capture_output=True, text=True, check=True)
    before, after = (float(number) for number in done.stdout.split())
    assert before > 60
    assert after < 30


_HEAPS = """
import ctypes, sys, threading
from signspot.io.memory import share_one_heap

if sys.argv[1] == "shared":
    share_one_heap()
library = ctypes.CDLL(None)
library.malloc.restype = ctypes.c_void_p
library.fopen.restype = ctypes.c_void_p
together = threading.Barrier(6)

def allocate():
    together.wait()
    library.malloc(100_000)
    together.wait()  # no thread ends, and leaves its heap to another, before all have one

threads = [threading.Thread(target=allocate) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
file = ctypes.c_void_p(library.fopen(sys.argv[2].encode(), b"w"))
library.malloc_info(0, file)
library.fclose(file)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc is asked")
@pytest.mark.parametrize("manner", ["shared", "as usual"])
def test_threads_share_one_heap_where_it_is_asked_for(manner: str, tmp_path: Path) -> None:
    heap_report = tmp_path / "heaps.xml"
    subprocess.run([sys.executable, "-c", _HEAPS, manner, str(heap_report)], check=True)
    heaps = heap_report.read_text().count("<heap nr=")
    assert heaps == 1 if manner == "shared" else heaps > 1
