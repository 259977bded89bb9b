"""What the CPU time of several slices was spent on is the sum of what it was spent on in each."""

from pathlib import Path

from crumple import contract
from crumple.record import joined_cpu_time

GOLDEN = Path(__file__).parents[2] / "contract" / "golden" / "record.json"


def golden() -> contract.TaskRecord:
    tasks = contract.TrialRecord.model_validate_json(GOLDEN.read_text()).probes.tasks
    assert tasks is not None and tasks.profile is not None
    return tasks


def test_times_and_samples_of_slices_add_up() -> None:
    one = golden()
    names = joined_cpu_time.by_name([one, one])
    assert [(each.name, each.threads, each.cpu_ns) for each in names][1] == ("job", 1, 2 * 7_033_518)
    both = joined_cpu_time.profile([one, one])
    assert both is not None and (both.samples, both.named, both.threads) == (42, 28, 12)
    assert [each.samples for each in both.functions] == [28]
    between = [(each.after, each.before, each.object, each.samples) for each in both.between]
    assert between == [("EVP_DigestUpdate", "EVP_DigestFinal_ex", "libcrypto.so.3", 4)]
    assert [(each.object, each.samples) for each in both.objects][:2] == [("libcrypto.so.3", 32), ("", 8)]


def test_where_a_slice_has_no_samples_the_others_do_not_stand_for_it() -> None:
    one = golden()
    none = one.model_copy(update={"profile": None})
    assert joined_cpu_time.profile([one, none]) is None
    assert one.profile is not None
    other = one.model_copy(update={"profile": one.profile.model_copy(update={"period_ns": 1})})
    assert joined_cpu_time.profile([one, other]) is None
