"""A file is remembered by provider and content; the newest word about it counts."""


async def test_an_upload_is_found_by_provider_and_content_only(store):
    await store.put_upload("openai", "d1", "file-1", 1_900_000_000)

    found = await store.find_upload("openai", "d1")

    assert (found.file_id, found.expires_at) == ("file-1", 1_900_000_000)
    assert await store.find_upload("anthropic", "d1") is None
    assert await store.find_upload("openai", "d2") is None


async def test_a_forgotten_upload_is_not_found_until_it_is_uploaded_again(store):
    await store.put_upload("openai", "d1", "file-1", None)
    await store.put_upload("openai", "d2", "file-2", None)
    await store.forget_upload("openai", "d1")
    assert await store.find_upload("openai", "d1") is None
    assert (await store.find_upload("openai", "d2")).file_id == "file-2"

    await store.put_upload("openai", "d1", "file-3", None)

    assert (await store.find_upload("openai", "d1")).file_id == "file-3"
