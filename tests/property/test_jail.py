"""What the parent measures again of a guest's answer says what the rules for exposed text say."""

from hypothesis import given, settings
from hypothesis import strategies as st

from mudroom.extract import clean_exposed
from mudroom.jail.pool import is_clean

ODD = st.sampled_from(
    [*"\x00\t\n\r\x1f\x7f\x85é\u00ad\u200b\u200c\u200d\ufe0f\u202e\u2028\ufeff😀👩क🄰a1# ", "\U000e0041"]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(ODD | st.characters(exclude_categories=("Cs",)), max_size=30).map("".join))
def test_text_is_clean_exactly_when_cleaning_changes_nothing(text: str) -> None:
    assert is_clean(text) == (clean_exposed(text).text == text)
