"""What holds of the options of all commands."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from rrn.data_prep import DataError
from rrn.data_prep.__main__ import main
from rrn.data_prep.options import check_options


def test_numbers_have_a_limit_but_seeds_and_shares_have_not():
    fits = {"scenes": (1_000_000, 1), "seed": 10**12, "mixed_share": 0.5, "rendered": True}
    check_options(SimpleNamespace(**fits, source="2000000", valid=None, out=Path("new.h5")))
    with pytest.raises(DataError, match=r"--scenes 1000001: at most 1,000,000 is possible"):
        check_options(SimpleNamespace(scenes=(1, 1_000_001)))
    with pytest.raises(DataError, match=r"--people 2000000: at most 1,000,000 is possible"):
        check_options(SimpleNamespace(people=2_000_000))


def test_a_place_where_nothing_can_be_written_is_refused_before_the_work(capsys):
    assert main(["ages", "--out", "/proc/new.h5"]) == 1
    said = capsys.readouterr()
    assert said.err.startswith("error: --out /proc/new.h5: cannot be written: ") and not said.out


def test_images_have_a_limit_of_their_own(tmp_path, capsys):
    out = tmp_path / "scenes.h5"
    arguments = ["pretty_clevr", "--scenes", "1,1,1", "--images", "1025", "--out", str(out)]
    assert main(arguments) == 1 and not out.exists()
    assert capsys.readouterr().err == "error: --images 1025: at most 1,024 pixels are possible\n"
