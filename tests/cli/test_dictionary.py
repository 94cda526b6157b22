"""`signspot dictionary`, `convert`, `models`."""

import json
from pathlib import Path

import pympi

from signspot.formats.elan import list_tiers, read_vocabulary
from signspot.formats.formats import read_spottings, write
from signspot.landmarks.landmarks import concatenate
from signspot.landmarks.pose_file import open_landmarks, write_landmarks
from signspot.types import Spotting
from tests.cli.conftest import Cli


def test_build_then_info(signspot: Cli, inputs: Path, tmp_path: Path) -> None:
    encoder = ("--encoder", inputs / "encoder.safetensors")
    out, err = signspot.ok("dictionary", "build", inputs / "signs", tmp_path / "d", *encoder)
    assert out.strip() == "3 words, 3 exemplars"
    assert "embedded 3 of 3 exemplars" in err
    _, out, _ = signspot("dictionary", "info", tmp_path / "d")
    assert [line.split()[0] for line in out.splitlines()] == ["word", "apple", "friend", "name", "3"]
    _, out, _ = signspot("dictionary", "info", tmp_path / "d", "name", "--json")
    assert [(exemplar["id"], exemplar["variant"]) for exemplar in json.loads(out)["name"]] == [("name", "")]
    assert "Did you mean 'name'?" in signspot.refused("dictionary", "info", tmp_path / "d", "nam", ends=1)


def test_unreadable_files_are_named_and_the_rest_goes_on(signspot: Cli, inputs: Path, tmp_path: Path) -> None:
    (tmp_path / "signs").mkdir()
    (tmp_path / "signs" / "apple.pose").write_bytes((inputs / "signs" / "apple.pose").read_bytes())
    (tmp_path / "signs" / "broken.mp4").write_bytes(b"not a video")
    out, err = signspot.ok("dictionary", "info", tmp_path / "signs")
    assert "1 word, 1 exemplar" in out
    assert "broken.mp4" in err


def test_convert_between_formats(signspot: Cli, tmp_path: Path) -> None:
    write([Spotting("apple", "news.mp4", 1.0, 0.8, 1.2, 0.9, "apple_1")], tmp_path / "a.jsonl")
    out, _ = signspot.ok("convert", tmp_path / "a.jsonl", tmp_path / "a.eaf")
    assert out.strip().endswith("a.eaf: 1 spotting")
    assert "none.jsonl" in signspot.refused("convert", tmp_path / "none.jsonl", tmp_path / "a.eaf")


def test_convert_names_the_tiers_it_passes_over_and_reads_those_that_are_named(signspot: Cli, tmp_path: Path) -> None:
    document = pympi.Elan.Eaf(author="a linguist")
    for tier, word in (("RH-IDgloss", "APPLE"), ("Free Translation", "I like apples.")):
        document.add_tier(tier)
        document.add_annotation(tier, 1000, 2000, word)
    document.to_file(str(tmp_path / "a.eaf"))
    _, err = signspot.ok("convert", tmp_path / "a.eaf", tmp_path / "a.csv")
    assert "read 'RH-IDgloss' (1); not read 'Free Translation' (1). Choose with --tier" in err
    assert [spotting.word for spotting in read_spottings(tmp_path / "a.csv")] == ["APPLE"]
    signspot.ok("convert", tmp_path / "a.eaf", tmp_path / "a.csv", "--tier", "Free Translation")
    assert [spotting.word for spotting in read_spottings(tmp_path / "a.csv")] == ["I like apples."]


def test_a_tier_for_each_word_or_for_the_hand_that_leads(signspot: Cli, inputs: Path, tmp_path: Path) -> None:
    signs = open_landmarks(inputs / "footage.pose")
    half = len(signs) // 2
    switched = concatenate([signs[:half], signs.mirrored()[half:]])  # the signer changes hands
    write_landmarks(switched, tmp_path / "footage.pose")
    spottings = [
        Spotting(word, str(tmp_path / "footage.pose"), start + 0.5, start, start + 1.0, 0.9)
        for word, start in (("apple", 0.5), ("pear", float(signs.times[-1]) - 1.5))
    ]
    write(spottings, tmp_path / "a.csv")

    def tiers(*options: str) -> dict[str, int]:
        signspot.ok("convert", tmp_path / "a.csv", tmp_path / "a.eaf", *options)
        assert read_spottings(tmp_path / "a.eaf") == read_spottings(tmp_path / "a.csv")
        return {tier.name: tier.annotations for tier in list_tiers(tmp_path / "a.eaf") if tier.is_read}

    assert tiers() == {"signspot": 2}
    assert tiers("--tier-per", "word") == {"signspot: apple": 1, "signspot: pear": 1}
    assert tiers("--tier-per", "hand") == {"signspot: left hand": 1, "signspot: right hand": 1}
    (tmp_path / "footage.pose").unlink()
    assert "there is no file" in signspot.refused(
        "convert", tmp_path / "a.csv", tmp_path / "b.eaf", "--tier-per", "hand"
    )


def test_a_document_from_another_machine_is_replaced_only_while_nobody_has_edited_it(
    signspot: Cli, tmp_path: Path
) -> None:
    write([Spotting("apple", "news.mp4", 1.0, 0.8, 1.2, 0.9)], tmp_path / "a.csv")
    write([Spotting("pear", "news.mp4", 1.0, 0.8, 1.2, 0.9)], tmp_path / "a.eaf")  # no ledger knows it
    signspot.ok("convert", tmp_path / "a.csv", tmp_path / "a.eaf")
    write([Spotting("pear", "news.mp4", 1.0, 0.8, 1.2, 0.9)], tmp_path / "a.eaf")
    edited = (tmp_path / "a.eaf").read_text().replace(">pear<", ">plum<")
    (tmp_path / "a.eaf").write_text(edited)
    code, _, err = signspot("convert", tmp_path / "a.csv", tmp_path / "a.eaf")
    assert code != 0
    assert "--force" in err
    assert (tmp_path / "a.eaf").read_text() == edited


def test_convert_writes_one_document_per_video(signspot: Cli, tmp_path: Path) -> None:
    spottings = [Spotting("apple", name, 1.0, 0.8, 1.2, 0.9) for name in ("mon/a.mp4", "tue/a.mp4")]
    write(spottings, tmp_path / "a.jsonl")
    out, err = signspot.ok("convert", tmp_path / "a.jsonl", tmp_path / "x.eaf")
    assert "one file per video" in err
    assert "x-mon-a.eaf" in out
    assert read_spottings(tmp_path / "x-mon-a.eaf") + read_spottings(tmp_path / "x-tue-a.eaf") == spottings


def test_annotations_of_an_eaf_serve_as_a_dictionary(signspot: Cli, inputs: Path, tmp_path: Path) -> None:
    """Find more like these: a linguist's glosses, converted to CSV, are exemplars cut out of the footage."""
    # The footage shows each word twice; a sign does not find itself where it was cut out.
    footage = tmp_path / "corpus" / "footage.pose"
    footage.parent.mkdir()
    footage.write_bytes((inputs / "footage.pose").read_bytes())
    document = pympi.Elan.Eaf(author="a linguist")
    document.add_linked_file(footage.as_uri(), relpath="./footage.pose", mimetype="unknown")
    document.add_tier("RH-IDgloss")
    for word, start, end in (("APPLE", 400, 1400), ("NAME", 2000, 3000)):
        document.add_annotation("RH-IDgloss", start, end, word)
    document.to_file(str(footage.parent / "glosses.eaf"))
    signspot.ok("convert", footage.parent / "glosses.eaf", tmp_path / "more.csv")
    out, _ = signspot.ok("dictionary", "info", tmp_path / "more.csv")
    assert "2 words, 2 exemplars" in out
    encoder = ("--encoder", inputs / "encoder.safetensors", "--json", "--top", "1", "--threshold", "0")
    signspot.ok("dictionary", "build", tmp_path / "more.csv", tmp_path / "built")
    assert len(list((tmp_path / "built" / "media").glob("*/*.pose"))) == 2
    for dictionary in (tmp_path / "more.csv", tmp_path / "built"):
        out, _ = signspot.ok("spot", footage, dictionary, "APPLE", *encoder)
        spotting = json.loads(out)
        assert spotting["word"] == "APPLE"
        assert spotting["start"] > 1.4


def test_variants_are_shown(signspot: Cli, inputs: Path, tmp_path: Path) -> None:
    (tmp_path / "signs.csv").write_text(
        f"file,word,variant\n{inputs / 'signs' / 'apple.pose'},apple,north\n"
        f"{inputs / 'signs' / 'name.pose'},apple,south\n{inputs / 'signs' / 'friend.pose'},friend,\n"
    )
    _, out, _ = signspot("dictionary", "info", tmp_path / "signs.csv")
    rows = [line.split() for line in out.splitlines()]
    assert rows[:3] == [
        ["word", "exemplars", "variants"],
        ["apple", "2", "north", "(1),", "south", "(1)"],
        ["friend", "1"],
    ]
    assert rows[3][:4] == ["2", "words,", "3", "exemplars,"]
    assert "2 variants" in out
    _, out, _ = signspot("dictionary", "info", tmp_path / "signs.csv", "apple")
    assert [line.split()[2] for line in out.splitlines()[:3]] == ["variant", "north", "south"]
    _, out, _ = signspot("dictionary", "info", tmp_path / "signs.csv", "apple", "--json")
    assert [exemplar["variant"] for exemplar in json.loads(out)["apple"]] == ["north", "south"]


def test_a_model_shows_its_card(signspot: Cli, inputs: Path) -> None:
    out, _ = signspot.ok("models", inputs / "encoder.safetensors")
    assert "{" not in out
    assert {("architecture", "landmark"), ("threshold", "0.7")} <= {tuple(line.split()) for line in out.splitlines()}
    out, _ = signspot.ok("models", inputs / "encoder.safetensors", "--json")
    assert json.loads(out)[0]["architecture"] == "landmark"
    assert "no-such-model" in signspot.refused("models", "no-such-model", ends=1)


def test_the_licence_of_weights_is_shown_once(signspot: Cli, inputs: Path) -> None:
    from signspot.models.encoder import log_licence

    line = "landmark: CC BY-NC-SA 4.0, see signspot models landmark"
    log_licence.cache_clear()  # other tests of this process may have loaded it
    assert line not in signspot("models", "landmark")[2]  # the card says it
    log_licence.cache_clear()
    spot = ("spot", inputs / "footage.pose", inputs / "signs", "apple", "--encoder", "landmark")
    out, err = signspot.ok(*spot)
    assert err.count(line) == 1
    assert line not in out
    assert line not in signspot(*spot)[2]


def test_a_dictionary_gives_a_vocabulary_that_documents_refer_to(signspot: Cli, inputs: Path, tmp_path: Path) -> None:
    out, _ = signspot.ok("convert", inputs / "signs", tmp_path / "mine.ecv")
    assert out.strip() == f"{tmp_path / 'mine.ecv'}: 3 words"
    vocabulary = read_vocabulary(tmp_path / "mine.ecv")
    assert vocabulary.name == "mine"
    assert list(vocabulary.entries) == ["apple", "friend", "name"]
    write([Spotting("apple", "a.mp4", 1, 0.5, 1.5, 0.9)], tmp_path / "a.csv")
    signspot.ok("convert", tmp_path / "a.csv", tmp_path / "a.eaf", "--ecv", tmp_path / "mine.ecv")
    assert f'CVE_REF="{vocabulary.entries["apple"]}"' in (tmp_path / "a.eaf").read_text()
    assert [spotting.word for spotting in read_spottings(tmp_path / "a.eaf")] == ["apple"]
    before = vocabulary.entries["apple"]
    signspot("convert", inputs / "signs", tmp_path / "mine.ecv")  # its own file may be written again
    assert read_vocabulary(tmp_path / "mine.ecv").entries["apple"] == before
    (tmp_path / "theirs.ecv").write_text("a person's file")
    assert signspot("convert", inputs / "signs", tmp_path / "theirs.ecv")[0] == 2
    assert signspot("convert", inputs / "signs", tmp_path / "mine.xml")[0] == 2
