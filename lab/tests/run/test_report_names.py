"""Short names of variants: the fewest settings that tell them apart, and the whole label if there is room."""

from crumple.drawing import page
from crumple.run.report import server_names


def test_short_labels_are_not_changed() -> None:
    labels = ["node-http", "node-http[pool=1]", "php-apache[workers=1000]"]
    assert list(server_names.short(labels).values()) == labels


def test_a_setting_implied_by_another_is_left_out() -> None:
    labels = [f"php-apache[start_workers={n},workers={n}]" for n in (150, 256)]
    assert list(server_names.short(labels).values()) == ["php-apache[workers=150]", "php-apache[workers=256]"]
    assert server_names.short(labels[:1]) == {labels[0]: "php-apache[workers=150]"}


def test_no_two_labels_become_equal() -> None:
    labels = [f"php-apache[keep_alive={k},start_workers={n},workers=9]" for k in (0, 5) for n in (150, 256)]
    short = server_names.short(labels)
    assert len(set(short.values())) == 4
    assert short[labels[0]] == "php-apache[keep_alive=0,start_workers=150]"


def test_a_label_breaks_between_settings_and_is_text() -> None:
    said = page._breakable("php[a=1,b=<2>] ÷ node-http")
    pieces = ("php[a=1,", "b=&lt;2&gt;]", "node-http")
    first, second, third = (f'<span class="piece">{piece}</span>' for piece in pieces)
    assert said == f"{first}<wbr>{second} ÷ {third}"
