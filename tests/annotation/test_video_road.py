"""The true road once: a rendered video, its pixels seen by MediaPipe, in this process and in a worker."""

from pathlib import Path

import pytest

from signspot.annotation.options import AnnotateOptions
from signspot.annotation.run import AnnotationJob, annotate
from signspot.annotation.store import dump, open_store
from signspot.io.processes import WorkerPool
from signspot.landmarks.pose_file import write_landmarks
from signspot_synthetic.body.motion import continuous, isolated
from signspot_synthetic.body.signers import Role, make_signer
from signspot_synthetic.camera.projection import project
from signspot_synthetic.knobs import named_rng
from signspot_synthetic.language.lexicon import LexiconOptions, make_lexicon
from signspot_synthetic.render.appearance import make_appearance
from signspot_synthetic.render.render import render_video

pytestmark = pytest.mark.slow


@pytest.fixture
def job(encoder_file: Path, tmp_path: Path) -> AnnotationJob:
    """Two seconds of film, and a dictionary of landmarks."""
    lexicon = make_lexicon(LexiconOptions(words=("apple", "friend"), seed=3, variant_shares=(1.0,)))
    signs = [entry.variants[0] for entry in lexicon.values()]
    signer, model = make_signer("one", 1, Role.TEST, left_share=0), make_signer("two", 1, Role.DICTIONARY, left_share=0)
    motion, _ = continuous(signs, signer, named_rng(1, "s"))
    film = project(motion, signer.camera)[:50]
    footage = tmp_path / "footage"
    footage.mkdir()
    render_video(film, make_appearance(1), footage / "news.mp4", (320, 240))
    (footage / "news.vtt").write_text("WEBVTT\n\n00:00.500 --> 00:01.500\nApples for my friend.\n")
    for word, sign in zip(lexicon, signs, strict=True):
        shown, _ = isolated(sign, model, named_rng(1, word))
        write_landmarks(project(shown, model.camera), tmp_path / "signs" / f"{word}.pose")
    return AnnotationJob(footage, tmp_path / "signs", tmp_path / "run", encoder=str(encoder_file))


def test_pixels_are_annotated_and_alike_in_every_process(job: AnnotationJob, here, tmp_path: Path) -> None:
    found = []
    for engine, out in ((here, tmp_path / "here"), (WorkerPool(), tmp_path / "there")):
        place = AnnotationJob(job.corpus, job.dictionary, out, encoder=job.encoder, cache=out)
        report = annotate(place, AnnotateOptions(keep=0.0), engine)
        assert (report.annotated, report.failed) == (1, [])
        with open_store(out) as store:
            assert {query.word for query in store.queries()} == {"apple", "friend"}
            assert store.videos()[0].seconds == pytest.approx(2.0, abs=0.1)
            found.append(list(dump(store)))
    assert found[0] == found[1]
