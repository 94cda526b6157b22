"""A run opens its corpus, its dictionary, every subtitle file and its store once; videos are digested once for all."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from signspot.annotation.run import AnnotationJob, MouthingJob, annotate, annotate_mouthings
from signspot.annotation.run_options import AnnotateOptions, RunOptions
from signspot.corpus.corpus import open_corpus
from signspot.dictionary.open_dictionary import open_dictionary
from tests.fixtures.opened import counting


def test_annotate(job: AnnotationJob, here) -> None:
    options = AnnotateOptions(keep=0.0, negatives=2)
    with counting() as opened:
        report = annotate(job, options, here)
    assert report.spottings
    expected = [
        "corpus.json",
        "dictionary.json",
        "annotations.sqlite",
        *(f"{name}.vtt" for name in report.corpus.videos),
    ]
    assert {name: opened[name] for name in expected} == dict.fromkeys(expected, 1)
    with counting() as opened:
        annotate(job, options, here)
    media = [f"{name}.pose" for name in report.corpus.videos]
    assert {name: opened[name] for name in media} == dict.fromkeys(media, 0), "digests are kept"


def test_what_is_open_is_taken_as_it_is(job: AnnotationJob, mouthing_file: Path, here) -> None:
    corpus, dictionary = open_corpus(str(job.corpus)), open_dictionary(str(job.dictionary))
    lips = MouthingJob(corpus, job.out / "lips", dictionary=dictionary, model=str(mouthing_file), threshold=0.0)
    with counting() as opened:
        annotate(replace(job, corpus=corpus, dictionary=dictionary), AnnotateOptions(keep=0.0, negatives=0), here)
        annotate_mouthings(lips, RunOptions(negatives=0), here)
    assert (opened["corpus.json"], opened["dictionary.json"], opened["annotations.sqlite"]) == (0, 0, 2)
    texts = [f"{name}.vtt" for name in corpus.videos]
    assert {name: opened[name] for name in texts} == dict.fromkeys(texts, 1), "both runs read them once"


def test_another_process_does_not_read_a_file_again_to_digest_it(tmp_path: Path) -> None:
    video = tmp_path / "a.mp4"
    video.write_bytes(bytes(100_000))
    os.utime(video, (1, 1))
    code = (
        "import sys; opened = []\n"
        "sys.addaudithook(lambda event, args: opened.append(args[0]) if event == 'open' else None)\n"
        "from signspot.io.files import content_digest\n"
        "print(content_digest(sys.argv[1]), opened.count(sys.argv[1]))"
    )
    outputs = []
    for _ in range(2):
        environment = {**os.environ, "SIGNSPOT_CACHE": str(tmp_path / "cache")}
        done = subprocess.run([sys.executable, "-c", code, video], env=environment, capture_output=True, check=True)
        outputs.append(done.stdout.decode().split())
        with (tmp_path / "cache" / "digests.jsonl").open("a") as digests:
            digests.write('{"path": 1, "stamp": [1e400], "digest": []}\n[\n')  # damage is passed over
    assert [opens for _, opens in outputs] == ["1", "0"]
    assert outputs[0][0] == outputs[1][0]
