from hypothesis import given
from hypothesis import strategies as st

from roost.core.secrets import Secrets

KEY = "sk-test-000"
SECRETS = Secrets({"DEMO_API_KEY": KEY, "LONGER": f"{KEY}-and-more", "SHORT": "abc"})


def test_a_secret_is_replaced_by_its_name_and_short_values_are_left() -> None:
    assert SECRETS.hide(f"A={KEY} abc") == "A=[redacted: DEMO_API_KEY] abc"
    assert SECRETS.hide(f"{KEY}-and-more") == "[redacted: LONGER]"


def test_secrets_inside_of_data_are_found() -> None:
    data = {"output": f"x{KEY}", "files": [{"path": KEY}, 3, None], "exit": 0}
    assert KEY not in str(SECRETS.hide_in(data))
    assert SECRETS.hide_in(data)["exit"] == 0
    assert Secrets({}).hide_in(data) is data


PIECES = st.lists(st.sampled_from(["s", "sk-", "sk-test-000", "-test", "k", "00", "0", "-", "\n"]))


@given(PIECES)
def test_a_stream_hides_what_the_whole_would_hide_wherever_it_is_cut(pieces: list[str]) -> None:
    secrets = Secrets({"DEMO_API_KEY": KEY})
    stream = secrets.stream()
    out = b"".join(stream.feed(piece.encode()) for piece in pieces) + stream.rest()
    assert out.decode() == secrets.hide("".join(pieces))
