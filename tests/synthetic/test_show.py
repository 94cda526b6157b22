import base64
import re

import pytest

from signspot.errors import UnknownWordError
from signspot.video.reader import open_video
from signspot_synthetic.corpus_plan import CorpusOptions, CorpusPlan
from signspot_synthetic.language.lexicon import LexiconOptions, make_lexicon
from signspot_synthetic.show import scenes, write_show_page


@pytest.fixture(scope="module")
def lexicon():
    return make_lexicon(LexiconOptions(words=30, seed=2))


@pytest.fixture(scope="module")
def word(lexicon):
    return next(word for word, entry in lexicon.items() if len(entry.variants) == 2 and not entry.fingerspelled)


def test_scenes_show_every_variant_and_then_a_use_between_two_others(lexicon, word):
    shown_scenes = list(scenes(lexicon, word, seed=1))
    assert [len(scene.signs) for scene in shown_scenes] == [1, 1, 3]
    assert [scene.detail for scene in shown_scenes[:2]] == [str(sign) for sign in lexicon[word].variants]
    assert shown_scenes[2].signs[1][0] == word
    assert shown_scenes[2].signs[1][1].duration < shown_scenes[0].signs[0][1].duration


def test_an_unknown_word_is_refused_and_leaves_no_file(tmp_path):
    with pytest.raises(UnknownWordError, match="'qqq'"):
        write_show_page(CorpusPlan(CorpusOptions(words=20, hours=0.02, seed=7)), "qqq", tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_a_page_is_one_file_with_videos_glosses_and_subtitles(tmp_path):
    plan = CorpusPlan(CorpusOptions(words=20, hours=0.02, seed=7))
    word = next(iter(plan.lexicon))
    page, calls = tmp_path / "page.html", []
    write_show_page(plan, word, page, seconds=2, height=64, progress=lambda *call: calls.append(call))
    text = page.read_text(encoding="utf-8")
    assert "http:" not in text
    assert "https:" not in text
    cells = [re.findall("<td>(.*?)</td>", row) for row in re.findall("<tr>(.*?)</tr>", text)]
    forms, signs, subtitles = ([row for row in cells if len(row) == count] for count in (2, 4, 3))
    assert len(forms) == len(plan.lexicon[word].variants) + 1
    assert subtitles
    of_word, of_sentences = re.findall(r"base64,([^\"]+)", text)
    expected_scenes = list(scenes(plan.lexicon, word, seed=7, size=(64, 64)))
    for content, count in ((of_word, sum(len(scene.landmarks) for scene in expected_scenes)), (of_sentences, None)):
        video = tmp_path / "video.mp4"
        video.write_bytes(base64.b64decode(content))
        with open_video(video) as opened:
            frames = list(opened.frames())
        assert frames[0].image.shape == (64 + 54, 86, 3)
        assert frames[0].image[66:].mean() > 200
        if count:
            assert frames[0].image[66:].min() < 150  # letters of the title
            assert len(frames) == count
            assert (count, count) in calls
        else:
            assert frames[-1].time >= float(signs[-1][2]) - 0.1
