import base64
import re

import numpy as np
import pytest
from PIL import Image

from signspot.errors import UnknownWordError
from signspot.video.reader import open_video
from signspot_synthetic.corpus_plan import CorpusOptions, CorpusPlan
from signspot_synthetic.language.lexicon import LexiconOptions, make_lexicon
from signspot_synthetic.show import contact_sheet, page, scenes, sign_video


@pytest.fixture(scope="module")
def lexicon():
    return make_lexicon(LexiconOptions(words=30, seed=2))


@pytest.fixture(scope="module")
def word(lexicon):
    return next(word for word, entry in lexicon.items() if len(entry.variants) == 2 and not entry.fingerspelled)


def test_scenes_show_every_variant_and_then_a_use_between_two_others(lexicon, word):
    made = list(scenes(lexicon, word, seed=1))
    assert [len(scene.signs) for scene in made] == [1, 1, 3]
    assert [scene.detail for scene in made[:2]] == [str(sign) for sign in lexicon[word].variants]
    assert made[2].signs[1][0] == word
    assert made[2].signs[1][1].duration < made[0].signs[0][1].duration


def test_a_contact_sheet_has_a_row_a_scene(lexicon, word, tmp_path):
    path = contact_sheet(lexicon, word, tmp_path / "sheet.png", size=(96, 96))
    sheet = np.asarray(Image.open(path))
    assert sheet.shape == (3 * (96 + 6 * 18) + 12, 8 * (96 + 12) + 12, 3)
    row = 54 + 48
    assert all(sheet[row + k * 204, 12:108].std() > 5 for k in range(3))


def test_an_unknown_word_is_refused_and_leaves_no_file(lexicon, tmp_path):
    with pytest.raises(UnknownWordError, match="'qqq'"):
        contact_sheet(lexicon, "qqq", tmp_path / "sheet.png")
    assert not list(tmp_path.iterdir())


def test_a_video_shows_all_scenes_with_a_caption(lexicon, word, tmp_path):
    calls = []
    path = sign_video(lexicon, word, tmp_path / "video.mp4", size=(64, 64), progress=lambda *call: calls.append(call))
    count = sum(len(scene.landmarks) for scene in scenes(lexicon, word, size=(64, 64)))
    with open_video(path) as video:
        frames = list(video.frames())
    assert len(frames) == count
    assert calls[-1] == (count, count)
    assert frames[0].image.shape == (64 + 54, 64, 3)
    assert frames[0].image[66:].mean() > 200


def test_a_page_is_one_file_with_video_glosses_and_subtitles(tmp_path):
    plan = CorpusPlan(CorpusOptions(words=20, hours=0.02, seed=7))
    text = page(plan, tmp_path / "page.html", seconds=2, height=64).read_text(encoding="utf-8")
    assert "http:" not in text
    assert "https:" not in text
    cells = [re.findall("<td>(.*?)</td>", row) for row in re.findall("<tr>(.*?)</tr>", text)]
    signs, subtitles = ([row for row in cells if len(row) == count] for count in (4, 3))
    assert signs
    assert subtitles
    video = tmp_path / "video.mp4"
    video.write_bytes(base64.b64decode(re.search(r"base64,([^\"]+)", text)[1]))
    with open_video(video) as opened:
        assert opened.info.duration >= float(signs[-1][2])
        assert opened.info.height == 64 + 54
