"""What --from names becomes a command of this machine, without a shell."""

import pytest
from crumple.errors import UsageError
from crumple.load_host import where


@pytest.mark.parametrize("text", ["loader", "user@10.0.0.7", "ssh://user@loader:2222", "fe80::1%eth0"])
def test_a_word_is_an_ssh_destination(text: str) -> None:
    named = where.read(text)
    argv = named.argv()
    assert argv[0] == "ssh" and argv[-3:] == ("--", text, "sh") and named.is_ssh
    assert {"BatchMode=yes", "ClearAllForwardings=yes", "ConnectTimeout=10"} <= {*argv}
    assert {"-T", "-a", "-x"} <= {*argv}


def test_a_text_with_a_space_is_a_command_whose_words_are_those_of_a_shell() -> None:
    named = where.read(" kubectl exec -i 'load pod' -- ")
    assert named.argv() == ("kubectl", "exec", "-i", "load pod", "--", "sh") and not named.is_ssh
    assert where.read("/usr/bin/ssh -p 2222 loader").is_ssh


@pytest.mark.parametrize(
    "text", ["", "  ", "-oProxyCommand=reboot", "-p 22 loader", "a\nb", "load er\x1b[2J", "sh 'a"]
)
def test_what_is_no_load_host_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        where.read(text)
    assert str(refused.value).isprintable() and refused.value.remedy


def test_the_words_before_it_are_those_that_were_typed() -> None:
    with pytest.raises(UsageError) as refused:
        where.read("sh 'a", "crumple cluster up")
    assert str(refused.value).startswith('crumple cluster up "sh \'a" is no command')


def test_a_secret_among_the_words_of_a_command_is_in_no_name() -> None:
    hidden = where.read("env API_TOKEN=hidden ssh loader")
    assert "hidden" in hidden.argv()[1] and "hidden" not in hidden.name
    assert where.read("user@loader").name == "user@loader"
