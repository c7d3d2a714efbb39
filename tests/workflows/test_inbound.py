"""What people send, in any shape, becomes a message or a refusal that says what was expected."""

from workflows.inbound import read_message


def test_a_message_with_a_misspelt_key_is_told_which_keys_there_are():
    refusal = read_message(({"answr": "retry"},), "update")
    assert refusal.reason == "malformed"
    assert refusal.text.startswith('it has neither "answer" nor "directive": send one of "retry"')
