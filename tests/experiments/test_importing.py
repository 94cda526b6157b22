"""Published corpora become the files that measurements read: synthetic videos under the corpora's names."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from experiments.isolated.importing import SourceClip, cut_out, import_lsa64, import_wlasl, pack
from experiments.isolated.lsa64 import read_lsa64
from experiments.isolated.reading import read_isolated
from experiments.isolated.wlasl import read_wlasl
from signspot.errors import FormatError
from signspot.landmarks.landmarks import Landmarks
from signspot.landmarks.pose_file import write_landmarks
from signspot_synthetic.body.motion import isolated
from signspot_synthetic.body.signers import Role, make_signer
from signspot_synthetic.camera.projection import project
from signspot_synthetic.geometry.framing import Camera
from signspot_synthetic.knobs import named_rng
from signspot_synthetic.language.lexicon import LexiconOptions, make_lexicon
from signspot_synthetic.render.appearance import make_appearance
from signspot_synthetic.render.render import render_video


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two words by one signer, about two seconds each, filmed."""
    lexicon = make_lexicon(LexiconOptions(words=2, seed=3))
    signer = make_signer("somebody", 3, Role.TEST, left_share=0, webcam_share=0)
    made = []
    for number, entry in enumerate(lexicon.values()):
        motion, _ = isolated(entry.variants[0], signer, named_rng(3, number))
        exact = project(motion, Camera(height=1.15), (288, 288))
        path = tmp_path_factory.mktemp("films") / f"{number}.mp4"
        made.append(render_video(exact, make_appearance(signer.appearance_seed), path, (288, 288)))
    return made


def test_lsa64_as_published_becomes_a_file_per_signer(films: list[Path], tmp_path: Path) -> None:
    videos, out = tmp_path / "videos", tmp_path / "out"
    (videos / "all").mkdir(parents=True)
    for name, film in (("001_003_001", films[0]), ("002_003_001", films[1])):
        shutil.copy(film, videos / "all" / f"{name}.mp4")
    (videos / "all" / "003_003_001.mp4").write_bytes(b"no video")
    (videos / "notes.txt").write_text("not a clip")
    steps: list[tuple[int, int | None]] = []
    made = import_lsa64(videos, out, lambda done, total: steps.append((done, total)), workers=1)
    assert [path.name for path in made.files] == ["signer_03.npz"]
    assert made.clips == 2
    assert [problem.split(":")[0] for problem in made.problems] == ["003_003_001.mp4"]
    assert steps[-1] == (3, 3)
    clips = read_lsa64(out)
    assert [(clip.word, clip.signer, clip.clip) for clip in clips] == [("1", "3", "1"), ("2", "3", "1")]
    assert [(clip.word, clip.signer, clip.clip) for clip in read_isolated(out)] == [("1", "3", "1"), ("2", "3", "1")]
    first = clips[0].landmarks
    assert first.fps == pytest.approx(20, abs=0.1)
    assert first.aspect == pytest.approx(1.0)
    assert np.isfinite(first.body).all()
    assert np.isfinite(first.right_hand).all(axis=(1, 2)).mean() > 0.3
    assert not (out / ".clips").exists()


def test_an_import_goes_on_where_it_stopped(films: list[Path], tmp_path: Path) -> None:
    """Landmarks of finished clips are kept, and files that are there are not made again."""
    videos, out = tmp_path / "videos", tmp_path / "out"
    videos.mkdir()
    for name, film in (("001_001_001", films[0]), ("002_001_001", films[1])):
        shutil.copy(film, videos / f"{name}.mp4")

    def stop(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_lsa64(videos, out, stop, workers=1)
    assert len(list((out / ".clips").rglob("*.pose"))) == 1
    assert not list(out.glob("*.npz"))
    (videos / "001_001_001.mp4").write_bytes(b"looked at already, and not again")
    assert import_lsa64(videos, out, workers=1).clips == 2
    before = (out / "signer_01.npz").stat().st_mtime_ns
    (videos / "002_001_001.mp4").write_bytes(b"nor this one, now that the file is there")
    assert import_lsa64(videos, out, workers=1).clips == 2
    assert (out / "signer_01.npz").stat().st_mtime_ns == before


def test_wlasl_as_published_keeps_the_body_of_all_frames(films: list[Path], tmp_path: Path) -> None:
    source, out = tmp_path / "wlasl", tmp_path / "out"
    (source / "videos").mkdir(parents=True)
    for name, film in (("00335", films[0]), ("07070", films[1])):
        shutil.copy(film, source / "videos" / f"{name}.mp4")
    instance = {"fps": 25, "frame_start": 1, "frame_end": -1, "signer_id": 4, "source": "aslbrick", "split": "train"}
    listed = [
        {"gloss": "book", "instances": [{**instance, "video_id": "00335"}, {**instance, "video_id": "00336"}]},
        {"gloss": "ice cream", "instances": [{**instance, "video_id": "07070", "signer_id": -1}]},
    ]
    (source / "WLASL_v0.3.json").write_text(json.dumps(listed))
    made = import_wlasl(source, out, workers=1)
    assert [path.name for path in made.files] == ["wlasl_01.npz"]
    assert made.clips == 2
    assert made.problems == ("00336.mp4: there is no such video",)
    clips = read_wlasl(out)
    assert [(clip.word, clip.signer, clip.clip) for clip in clips] == [("book", "4", "335"), ("ice cream", "", "7070")]
    with np.load(out / "wlasl_01.npz") as file:
        lengths = np.diff(file["start"])
        assert (file["observed"] == lengths).all()
        assert set(file["fps"]) == {25.0}
        assert list(file["source"]) == ["aslbrick", "aslbrick"]
        assert [len(clip.landmarks) for clip in clips] == lengths.tolist()
    last = clips[0].landmarks.body[-1]
    assert np.isfinite(last).all()
    assert (last[13:15, 3] > 0).all()  # elbows are seen to the end


def still(frames: int, fps: float = 25.0) -> Landmarks:
    body = np.zeros((frames, 33, 4), np.float32)
    body[:, 0, 0] = np.arange(frames)
    hand = np.zeros((frames, 21, 3), np.float32)
    return Landmarks(body, hand, hand, np.zeros((frames, 60, 3), np.float32), np.arange(frames) / fps, (100, 50))


def test_a_sign_is_cut_out_of_a_video_that_is_not_cut_yet() -> None:
    whole = still(100)
    part = cut_out(whole, (9 / 25, 40 / 25))  # frames 10 to 40, counted from 1
    assert part.body[:, 0, 0].tolist() == list(range(9, 40))
    assert part.times[0] == 0
    assert cut_out(still(31), (9 / 25, 40 / 25)).body[:, 0, 0].tolist() == list(range(31))  # cut already
    assert cut_out(whole, None) is whole


def test_clips_are_packed_one_after_the_other() -> None:
    arrays = pack([(SourceClip(Path("a"), (1, 2, 3)), still(4)), (SourceClip(Path("b"), (5, 6, 7)), still(2))])
    assert arrays["start"].tolist() == [0, 4, 6]
    assert arrays["label"].tolist() == [[1, 2, 3], [5, 6, 7]]
    assert arrays["aspect"].tolist() == [2.0, 2.0]
    assert arrays["pose"].shape == (6, 33, 4)


def test_any_folder_by_word_and_signer_and_any_table_is_read(tmp_path: Path) -> None:
    for name in ("apple/anna.pose", "apple/anna_2.pose", "ice cream/ben.pose"):
        (tmp_path / "signs" / name).parent.mkdir(parents=True, exist_ok=True)
        write_landmarks(still(4), tmp_path / "signs" / name)
    found = read_isolated(tmp_path / "signs")
    assert [(clip.word, clip.signer, clip.clip) for clip in found] == [
        ("apple", "anna", "anna.pose"), ("apple", "anna", "anna_2.pose"), ("ice cream", "ben", "ben.pose"),
    ]  # fmt: skip
    assert found[0].landmarks.equals(still(4), tolerance=1e-5)
    table = tmp_path / "signs.csv"
    table.write_text("file,word,signer\nsigns/apple/anna.pose,apple,7\n")
    (one,) = read_isolated(table)
    assert (one.word, one.signer, one.clip) == ("apple", "7", "anna.pose")
    with pytest.raises(FormatError, match="no isolated signs"):
        read_isolated(tmp_path / "nothing")


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"there is no folder .*nowhere\. .* named WORD_SIGNER_REPETITION\.mp4"):
        import_lsa64(tmp_path / "nowhere", tmp_path / "out")
    with pytest.raises(FormatError, match=r"no videos of LSA64 in .* named WORD_SIGNER_REPETITION\.mp4"):
        import_lsa64(tmp_path, tmp_path / "out")
    with pytest.raises(FormatError, match=r"no WLASL_v\*\.json"):
        import_wlasl(tmp_path, tmp_path / "out")
    for instance in ('{"video_id": "1", "fps": 0, "frame_end": 3}', "[]", '{"video_id": "1", "frame_start": 1e400}'):
        (tmp_path / "WLASL_v0.3.json").write_text(f'[{{"gloss": "book", "instances": [{instance}]}}]')
        with pytest.raises(FormatError, match="no list of WLASL"):
            import_wlasl(tmp_path, tmp_path / "out")
    (tmp_path / "WLASL_v0.3.json").write_text('[{"gloss": "book"}]')
    with pytest.raises(FormatError, match="no list of WLASL"):
        import_wlasl(tmp_path, tmp_path / "out")
    (tmp_path / "WLASL_v0.3.json").write_text('[{"gloss": "book", "instances": [{"video_id": "00001"}]}]')
    with pytest.raises(FormatError, match="not one of the 1 videos"):
        import_wlasl(tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", [b"", b"PK\3\4", b"\x93NUMPY", "whole"])
def test_a_damaged_file_of_signs_is_told(content: bytes | str, tmp_path: Path) -> None:
    path = tmp_path / "signer_001.npz"
    if isinstance(content, str):
        np.savez(path, label=np.zeros((1, 3)), start=np.arange(2))  # without landmarks
    else:
        path.write_bytes(content)
    with pytest.raises(FormatError, match="holds no isolated signs, or it is damaged"):
        read_lsa64(tmp_path)
