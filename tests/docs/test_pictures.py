"""The pictures of the documentation are what the library draws today."""

from tools.pictures import FOLDER, PICTURES, draw


def test_pictures_are_up_to_date(tmp_path):
    drawn = draw(tmp_path)
    assert {path.name for path in drawn} == set(PICTURES) == {path.name for path in FOLDER.glob("*.svg")}
    for path in drawn:
        assert path.read_text("utf-8") == (FOLDER / path.name).read_text("utf-8"), "run python -m tools.pictures"
