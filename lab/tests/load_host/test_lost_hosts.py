"""Whatever fails between lab, ssh and engine, the load ends, nothing stays, and the result has a name."""

from collections.abc import Iterator

import lost_hosts
import other_hosts
import pytest
import real_engine
import secure_shell
from lost_hosts import FAULTS, There

pytestmark = [pytest.mark.starts]


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[There]:
    if why := other_hosts.why_not() or secure_shell.why_not():
        pytest.skip(why)
    engine = real_engine.loaded()
    with lost_hosts.loading_host(tmp_path_factory.mktemp("client"), engine.path) as there:
        yield there


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_ends_the_load_and_has_a_name(there: There, name: str) -> None:
    suffered = lost_hosts.suffer(there, name)
    assert suffered.how == FAULTS[name].how, suffered.said
    assert suffered.left == 0 and suffered.said.isprintable()
    # 3 s of silence end it. The bench asks for 4 s; here the machine may be busy.
    assert suffered.over_s < lost_hosts.LOAD_S / 4
