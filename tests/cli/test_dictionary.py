"""`signspot dictionary`, `convert`, `models`."""

import json
from collections.abc import Callable
from pathlib import Path

from signspot.formats.formats import write
from signspot.records import Spotting

Call = Callable[..., tuple[int, str, str]]


def test_build_then_info(signspot: Call, corner: Path, tmp_path: Path) -> None:
    encoder = ("--encoder", corner / "encoder.safetensors")
    code, out, err = signspot("dictionary", "build", corner / "signs", tmp_path / "d", *encoder)
    assert code == 0, err
    assert out.strip() == "3 words, 3 exemplars"
    assert "embedded 3 of 3 exemplars" in err
    _, out, _ = signspot("dictionary", "info", tmp_path / "d")
    assert [line.split()[0] for line in out.splitlines()] == ["word", "apple", "friend", "name", "3"]
    _, out, _ = signspot("dictionary", "info", tmp_path / "d", "name", "--json")
    assert json.loads(out) == {"name": ["name"]}
    code, _, err = signspot("dictionary", "info", tmp_path / "d", "nam")
    assert code == 1
    assert "Did you mean 'name'?" in err


def test_unreadable_files_are_named_and_the_rest_goes_on(signspot: Call, corner: Path, tmp_path: Path) -> None:
    (tmp_path / "signs").mkdir()
    (tmp_path / "signs" / "apple.pose").write_bytes((corner / "signs" / "apple.pose").read_bytes())
    (tmp_path / "signs" / "broken.mp4").write_bytes(b"not a video")
    code, out, err = signspot("dictionary", "info", tmp_path / "signs")
    assert code == 0
    assert "1 word, 1 exemplar" in out
    assert "broken.mp4" in err


def test_convert_between_formats(signspot: Call, tmp_path: Path) -> None:
    write([Spotting("apple", "news.mp4", 1.0, 0.8, 1.2, 0.9, "apple_1")], tmp_path / "a.jsonl")
    code, out, _ = signspot("convert", tmp_path / "a.jsonl", tmp_path / "a.eaf")
    assert code == 0
    assert out.strip().endswith("a.eaf: 1 spotting")
    code, _, err = signspot("convert", tmp_path / "none.jsonl", tmp_path / "a.eaf")
    assert code == 1
    assert "none.jsonl" in err


def test_a_model_shows_its_card(signspot: Call, corner: Path) -> None:
    code, out, _ = signspot("models", corner / "encoder.safetensors")
    assert code == 0
    assert json.loads(out)["architecture"] == "landmark"
    code, _, err = signspot("models", "no-such-model")
    assert code == 1
    assert "no-such-model" in err


def test_a_malicious_pickle_is_not_run(signspot: Call, tmp_path: Path) -> None:
    import pickle

    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return Path.touch, (Path(tmp_path / "ran"),)  # type: ignore[return-value]

    (tmp_path / "bsldict_v1.pkl").write_bytes(pickle.dumps(Evil()))
    code, _, err = signspot("dictionary", "import-bsldict", tmp_path / "bsldict_v1.pkl", tmp_path / "d")
    assert code == 1
    assert "Traceback" not in err
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "d").exists()
