from working import working


def test_work_can_begin():
    with working():
        pass
