"""What is kept of a cluster: for its user alone, and no longer than it is up."""

import fcntl
import os
from collections.abc import Iterator

import pytest
from crumple.cluster import cluster_file
from crumple.cluster.cluster_file import ClusterFile, Pass
from crumple.errors import UsageError

KEY = Pass(certificate="of the cluster\n", key="secret\n")
UP = ClusterFile(address="tls://10.0.0.1:8786", keeper=os.getpid(), key_to_it=KEY)


@pytest.fixture(autouse=True)
def only_one() -> Iterator[None]:
    with cluster_file.only_one():
        yield


def test_while_a_cluster_is_up_its_user_alone_can_read_where_it_is() -> None:
    assert cluster_file.read() is None
    with cluster_file.kept(UP):
        assert cluster_file.path().stat().st_mode & 0o777 == 0o600
        assert cluster_file.read() == UP
    assert cluster_file.read() is None and not cluster_file.path().exists()


def test_no_other_comes_up_meanwhile() -> None:
    with cluster_file.kept(UP):
        with pytest.raises(UsageError, match="a cluster is up, or comes up"), cluster_file.only_one():
            pass
        assert cluster_file.read() == UP


def test_a_file_that_nobody_holds_is_of_no_cluster_and_makes_way() -> None:
    # So a keeper leaves it that was killed.
    with cluster_file.kept(UP):
        file = cluster_file.path().read_bytes()
    cluster_file.path().write_bytes(file)
    assert cluster_file.read() is None
    with cluster_file.kept(UP):
        assert cluster_file.read() == UP


def test_a_file_of_somebody_else_is_not_written_through() -> None:
    beside = cluster_file.path().with_name("beside")
    beside.write_text("")
    cluster_file.path().symlink_to(beside)
    with cluster_file.kept(UP):
        assert beside.read_text() == "" and not cluster_file.path().is_symlink()


def test_its_address_and_no_other_opens_it() -> None:
    with cluster_file.kept(UP):
        ours = cluster_file.security(UP.address)
        assert ours.require_encryption and ours.tls_worker_key == KEY.key
        other = cluster_file.security("tls://10.0.0.2:8786")
        assert other.tls_client_key != KEY.key and other.require_encryption


def test_each_connection_must_be_encrypted_and_both_ends_show_the_certificate() -> None:
    security = Pass.made().security
    for role in cluster_file.ROLES:
        listens, connects = security.get_listen_args(role), security.get_connection_args(role)
        assert listens["require_encryption"] and connects["require_encryption"]
        assert {each["ssl_context"].verify_mode.name for each in (listens, connects)} == {"CERT_REQUIRED"}


def test_two_clusters_have_two_keys() -> None:
    assert Pass.made().key != Pass.made().key


def test_the_lock_ends_with_the_cluster() -> None:
    with (
        cluster_file.kept(UP),
        cluster_file.path().open("rb") as file,
        pytest.raises(BlockingIOError),
    ):
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
