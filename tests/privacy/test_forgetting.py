"""Forgetting: everything of one signer goes, nothing of another, and nothing at all without a yes."""

import json
import shutil
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from signspot.annotation.search import write_gallery
from signspot.annotation.store import open_store
from signspot.cli.main import app
from signspot.corpus.corpus import open_corpus
from signspot.dictionary.opening import open_dictionary
from signspot.embedding.exemplars import Gallery
from signspot.embedding.tracks import write_track
from signspot.errors import FormatError, OptionsError
from signspot.formats.formats import read_spottings, write
from signspot.io.files import content_digest
from signspot.privacy.forgetting import forget
from signspot.privacy.steps import Removal
from signspot.types import Exemplar, Grid, Spotting, Track

from .conftest import everything, places, pose


def test_nothing_goes_without_a_yes(kept: Path) -> None:
    before = everything(kept)
    found = forget("Ann", places(kept))
    assert len(found) >= 9
    assert everything(kept) == before


def test_everything_of_one_signer_goes_and_nothing_of_another(kept: Path) -> None:
    before = everything(kept)
    listed = forget("Ann", places(kept))
    removed = forget("Ann", places(kept), yes=True)
    assert removed == listed
    after = everything(kept)
    gone = {name for name in before if name not in after}
    assert gone
    assert not [name for name in gone if "Ben" in name]
    text = b"".join(after.values())
    assert b"Ann" not in text
    assert not [name for name in after if "Ann" in name]
    dictionary = open_dictionary(kept / "signs")
    assert [exemplar.id for exemplar in dictionary.exemplars] == ["apple-Ben"]
    assert list(open_corpus(kept / "footage").videos) == ["Ben-talk"]
    assert (kept / "footage" / "labels" / "all.jsonl").read_text().count("Ben-talk") == 2
    with open_store(kept / "run") as store:
        assert [video.video for video in store.videos()] == ["Ben-talk"]
        assert set(store.keys()) == {("Ben-talk", "apple")}
    ben = content_digest(kept / "footage" / "videos" / "Ben-talk.pose")
    caches = [path for path in (kept / "cache").rglob("*") if path.suffix in (".pose", ".safetensors")]
    assert len(caches) == 3
    assert all(path.name.startswith(ben) for path in caches)
    unchanged = {name for name in after if after[name] == before.get(name)}
    assert {name for name in before if "Ben" in name and name.startswith(("signs", "footage"))} <= unchanged
    assert forget("Ann", places(kept), yes=True) == []


def test_a_video_is_known_by_its_content_or_by_its_name_alone(kept: Path) -> None:
    talk = kept / "footage" / "videos" / "Ann-talk.pose"
    kinds = {each.kind for each in forget(str(talk))}
    assert kinds == {"cached landmarks", "cached sketches", "cached tracks"}
    talk.unlink()
    assert {each.kind for each in forget(str(talk), yes=True)} == kinds
    assert forget(str(talk)) == []


def test_a_place_that_is_none_is_told(kept: Path) -> None:
    (kept / "photos").mkdir()
    with pytest.raises(OptionsError, match="photos is no dictionary"):
        forget("Ann", [kept / "photos"], yes=True)
    with pytest.raises(OptionsError, match="name a signer"):
        forget("  ")


def test_the_verb_lists_and_says_what_it_cannot_reach(kept: Path) -> None:
    run = CliRunner()
    dry = run.invoke(app, ["forget", "Ann", *map(str, places(kept))])
    assert "nothing was" in dry.output
    assert "--yes" in dry.output
    assert (kept / "signs" / "media" / "apple-Ann.pose").exists()
    done = run.invoke(app, ["forget", "Ann", *map(str, places(kept)), "--yes"])
    assert "weights that were trained" in done.output
    assert not (kept / "signs" / "media" / "apple-Ann.pose").exists()
    assert isinstance(forget("Ben", places(kept))[0], Removal)


def test_a_plain_folder_and_its_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGNSPOT_CACHE", str(tmp_path / "cache"))
    for number, name in enumerate(("a", "b", "c")):
        pose(tmp_path / "signs" / f"{name}.pose", number)
    table = tmp_path / "signs" / "dictionary.csv"
    table.write_text('file,word,signer\na.pose,apple,Ann\nb.pose,"ice\ncream",Ben\nc.pose,pear,Ann\n')
    found = forget("Ann", [tmp_path / "signs"], yes=True)
    assert [(each.kind, each.what) for each in found] == [
        ("lines", f"{table}: 2 of 3"),
        ("file", str(tmp_path / "signs" / "a.pose")),
        ("file", str(tmp_path / "signs" / "c.pose")),
    ]
    assert table.read_text() == 'file,word,signer\nb.pose,"ice\ncream",Ben\n'
    assert [path.name for path in sorted((tmp_path / "signs").iterdir())] == ["b.pose", "dictionary.csv"]


def test_a_video_goes_from_a_folder_without_a_table_by_its_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGNSPOT_CACHE", str(tmp_path / "cache"))
    original = pose(tmp_path / "mine.pose", 1)
    pose(tmp_path / "signs" / "apple" / "copy.pose", 1)
    pose(tmp_path / "signs" / "apple" / "other.pose", 2)
    forget(str(original), [tmp_path / "signs"], yes=True)
    assert [path.name for path in (tmp_path / "signs" / "apple").iterdir()] == ["other.pose"]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".via.json", ".bobsl.json", ".parquet"])
def test_spottings_in_a_persons_videos_go(suffix: str, kept: Path) -> None:
    path = kept / f"found{suffix}"
    write([Spotting("apple", f"videos/{who}-talk.mp4", 1.0, 0.5, 1.5, 0.9) for who in ("Ann", "Ben", "Ann")], path)
    forget("videos/Ann-talk.mp4", [path], yes=True)
    assert [each.video for each in read_spottings(path)] == ["videos/Ben-talk.mp4"]
    assert b"Ann" not in path.read_bytes()


@pytest.mark.parametrize("suffix", [".eaf", ".vtt", ".csv"])
def test_a_file_of_nobody_else_goes_as_a_whole(suffix: str, kept: Path) -> None:
    (path,) = write([Spotting("apple", "Ann-talk.mp4", 1.0, 0.5, 1.5, 0.9)], kept / f"found{suffix}")
    assert str(path) in {each.what for each in forget("Ann", [*places(kept), path], yes=True)}
    assert not path.exists()


def test_saved_tracks_go(kept: Path) -> None:
    grid = Grid(fps=25.0, stride=1, window=16, frames=17)
    paths = [kept / f"{who}.safetensors" for who in ("one", "other")]
    for path, video in zip(paths, ("Ann-talk.mp4", "Ben-talk.mp4"), strict=True):
        write_track(Track(np.ones((2, 4), np.float16), grid, "enc", video, "d"), path)
    forget("Ann", [kept / "footage", *paths], yes=True)
    assert [path.exists() for path in paths] == [False, True]


@pytest.mark.parametrize("suffix", [".zip", ".tar", ".tar.gz"])
def test_members_of_archives_go_by_name_and_by_content(suffix: str, kept: Path) -> None:
    copies = {"backup/videos/Ann-talk.pose": "Ann", "renamed.pose": "Ann", "backup/videos/Ben-talk.pose": "Ben"}
    path = kept / f"archive{suffix}"
    if suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, who in copies.items():
                archive.write(kept / "footage" / "videos" / f"{who}-talk.pose", name)
    else:
        with tarfile.open(path, "w:gz" if suffix == ".tar.gz" else "w") as tape:
            for name, who in copies.items():
                tape.add(kept / "footage" / "videos" / f"{who}-talk.pose", name)
    ben = (kept / "footage" / "videos" / "Ben-talk.pose").read_bytes()
    removed = forget("Ann", [kept / "footage", path], yes=True)
    assert {each.what for each in removed if each.kind == "member"} == {f"{path}: {name}" for name in list(copies)[:2]}
    shutil.unpack_archive(path, kept / "out")
    assert everything(kept / "out") == {"backup/videos/Ben-talk.pose": ben}


@pytest.mark.parametrize("suffix", [".zip", ".tar.xz"])
def test_an_archive_that_unpacks_to_far_more_than_it_is_is_refused(
    suffix: str, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signspot.privacy.loose_files._MOST_EXTRA", 1 << 20)
    path, zeros = kept / f"archive{suffix}", kept / "zeros.mp4"
    zeros.write_bytes(bytes(8 << 20))
    if suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(zeros, "Ann-talk.mp4")
    else:
        with tarfile.open(path, "w:xz") as tape:
            tape.add(zeros, "Ann-talk.mp4")
    with pytest.raises(FormatError, match="unpacks to far more than it is"):
        forget("Ann", [kept / "footage", path], yes=True)
    assert (kept / "footage" / "videos" / "Ann-talk.pose").is_file(), "nothing goes before all is found"


@pytest.mark.parametrize("suffix", [".zip", ".tar.xz"])
def test_a_damaged_archive_is_told(suffix: str, kept: Path) -> None:
    path, member = kept / f"archive{suffix}", kept / "footage" / "videos" / "Ben-talk.pose"
    if suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(member, "Ben-talk.pose")
    else:
        with tarfile.open(path, "w:xz") as tape:
            tape.add(member, "Ben-talk.pose")
    content = bytearray(path.read_bytes())
    content[60:160] = b"\xff" * 100
    path.write_bytes(content)
    with pytest.raises(FormatError, match="is no archive that can be read, or it is damaged"):
        forget("Ann", [path])


def test_a_file_of_another_kind_is_refused(kept: Path) -> None:
    (kept / "notes.txt").write_text("Ann")
    with pytest.raises(OptionsError, match=r"notes\.txt is no file in which somebody could be looked for"):
        forget("Ann", [kept / "notes.txt"])


def test_an_id_is_a_name_and_no_pattern(kept: Path) -> None:
    """A video called `*` is forgotten alone; odd things in the splits stay."""
    footage = kept / "footage"
    corpus = json.loads((footage / "corpus.json").read_text())
    pose(footage / "videos" / "star.pose", 20)
    corpus["videos"].append({"id": "*", "signer": "Cem", "landmarks": "videos/star.pose"})
    (footage / "corpus.json").write_text(json.dumps(corpus))
    (footage / "splits.json").write_text(json.dumps({"train": ["*", "Ben-talk", ["*"]], "test": ["\ud800"]}))
    truth = footage / "truth" / "signs"
    truth.mkdir(parents=True)
    for name in ("*", "Ben-talk"):
        (truth / f"{name}.jsonl").write_text("")
    forget("Cem", [footage], yes=True)
    assert sorted(path.name for path in truth.iterdir()) == ["Ben-talk.jsonl"]
    assert json.loads((footage / "splits.json").read_text())["train"] == ["Ben-talk", ["*"]]
    assert json.loads((footage / "splits.json").read_text())["test"] == ["\ud800"]


def test_runs_archives_trainings_and_loops_forget_too(kept: Path) -> None:
    """All of it below one folder: nobody has to name each."""
    talks = {signer: kept / "footage" / "videos" / f"{signer}-talk.pose" for signer in ("Ann", "Ben")}
    grid = Grid(fps=25.0, stride=1, window=16, frames=17)
    for signer, talk in talks.items():
        own, other = Exemplar("apple", f"apple-{signer}"), Exemplar("apple", "apple-Eve")
        write_gallery(Gallery.of([own, other], np.ones((2, 4), np.float32)), kept / "run" / "gallery")
        digest = content_digest(talk)
        write_track(
            Track(np.ones((2, 4), np.float16), grid, "enc", f"elsewhere/{signer}.mp4", digest),
            kept / "archive" / "deep" / f"{signer}.safetensors",
        )
        features = kept / "training" / "features" / "enc" / f"{signer}-talk-{digest}-1.npy"
        features.parent.mkdir(parents=True, exist_ok=True)
        np.save(features, np.ones(3))
    np.save(features.with_name(f"exemplars-{'0' * 16}-2-3-1-1.npy"), np.ones(3))
    (kept / "learnt" / "stages").mkdir(parents=True)
    lines = [json.dumps({"word": "apple", "video": f"{signer}-talk", "time": 1.0}) + "\n" for signer in talks]
    (kept / "learnt" / "labels-M.jsonl").write_text("".join(lines))
    before = everything(kept)
    forget("Ann", [kept])
    assert everything(kept) == before
    forget("Ann", [kept], yes=True)
    after = everything(kept)
    assert not [name for name, content in after.items() if b"Ann" in content or "Ann" in name]
    bens = {name for name in before if "Ben" in name}
    assert bens <= set(after)
    galleries = [name for name in before if "gallery" in name]
    assert [name for name in galleries if name in after] == [name for name in galleries if b"Ben" in before[name]]
    assert [name for name in after if name.startswith("training")] == [
        name for name in before if name.startswith("training") and "Ben" in name
    ]
    assert (kept / "learnt" / "labels-M.jsonl").read_text() == lines[1]
    assert forget("Ann", [kept]) == []
