"""The vendors' files APIs, by their own clients: upload, look up, delete, expire, and what a vanished file gets."""

import base64
import hashlib
import io

import anthropic
import openai
import pytest
from google.genai import errors
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest, UploadedFile, UserPromptPart
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider

from simulator import Script, Text

PDF = b"%PDF-1.7\r\n--not a boundary\r\n\x00\xff\r\n\r\n"
VENDORS = ("openai", "anthropic", "google")


class OpenAI:
    """What tests do with a vendor's files, in words that are the same for all three."""

    gone = openai.NotFoundError
    words = "No such File object: {name}"

    def __init__(self, client):
        self.files = client.files

    async def upload(self):
        made = await self.files.create(file=("plan.pdf", PDF, "application/pdf"), purpose="user_data")
        assert (made.filename, made.bytes, made.purpose) == ("plan.pdf", len(PDF), "user_data")
        return made.id

    async def look_up(self, name):
        return (await self.files.retrieve(name)).id

    async def delete(self, name):
        assert (await self.files.delete(name)).deleted


class Anthropic:
    gone = anthropic.NotFoundError
    words = "File not found: {name}"

    def __init__(self, client):
        self.files = client.beta.files

    async def upload(self):
        made = await self.files.upload(file=("plan.pdf", PDF, "application/pdf"))
        assert (made.filename, made.size_bytes, made.mime_type) == ("plan.pdf", len(PDF), "application/pdf")
        return made.id

    async def look_up(self, name):
        return (await self.files.retrieve_metadata(name)).id

    async def delete(self, name):
        assert (await self.files.delete(name)).type == "file_deleted"


class Google:
    gone = errors.ClientError
    words = "You do not have permission to access the File {name} or it may not exist."

    def __init__(self, client):
        self.files = client.aio.files

    async def upload(self):
        config = {"mime_type": "application/pdf", "display_name": "plan.pdf"}
        made = await self.files.upload(file=io.BytesIO(PDF), config=config)
        assert (made.display_name, made.size_bytes, made.mime_type) == ("plan.pdf", len(PDF), "application/pdf")
        assert base64.b64decode(made.sha256_hash).decode() == hashlib.sha256(PDF).hexdigest()
        assert made.state.value == "ACTIVE"
        assert (made.expiration_time - made.create_time).total_seconds() == 48 * 3600
        assert made.uri == f"https://generativelanguage.googleapis.com/v1beta/{made.name}"
        return made.name.removeprefix("files/")

    async def look_up(self, name):
        return (await self.files.get(name=f"files/{name}")).name.removeprefix("files/")

    async def delete(self, name):
        await self.files.delete(name=f"files/{name}")


@pytest.fixture
def files_at(openai_to, anthropic_to, gemini_to):
    async def desk(vendor, sim, key="sim-key"):
        match vendor:
            case "openai":
                return OpenAI(await openai_to(sim, api_key=key))
            case "anthropic":
                return Anthropic(await anthropic_to(sim, api_key=key))
            case "google":
                return Google(await gemini_to(sim, api_key=key))

    return desk


@pytest.mark.parametrize("vendor", VENDORS)
async def test_a_file_is_uploaded_found_again_and_deleted(simulate, files_at, vendor):
    sim = await simulate()
    desk = await files_at(vendor, sim)
    name = await desk.upload()
    assert await desk.look_up(name) == name
    await desk.delete(name)
    with pytest.raises(desk.gone, match=desk.words.format(name=name)):
        await desk.look_up(name)


@pytest.mark.parametrize("vendor", VENDORS)
async def test_file_requests_are_logged_apart_from_those_for_models(simulate, files_at, vendor, tmp_path):
    sim = await simulate(log=tmp_path / "log")
    await (await files_at(vendor, sim, key="secret-key")).upload()
    assert sim.requests == ()
    assert {request.dialect for request in sim.file_requests} == {f"{vendor.replace('google', 'gemini')}_files"}
    assert (tmp_path / "log").read_text().count('"event": "file"') == len(sim.file_requests) > 0
    assert "secret-key" not in (tmp_path / "log").read_text()


@pytest.mark.parametrize("vendor", VENDORS)
async def test_files_want_the_key_that_models_want(simulate, files_at, vendor):
    sim = await simulate(script=Script(keys=("right",)))
    with pytest.raises((openai.AuthenticationError, anthropic.AuthenticationError, errors.ClientError)):
        await (await files_at(vendor, sim, key="wrong")).upload()
    assert await (await files_at(vendor, sim, key="right")).upload()


@pytest.mark.parametrize("vendor", VENDORS)
async def test_the_first_uploads_fail_as_the_script_says(simulate, files_at, vendor):
    sim = await simulate(script=Script(uploads=("rate_limited", "server_error")))
    desk = await files_at(vendor, sim)
    with pytest.raises((openai.RateLimitError, anthropic.RateLimitError, errors.ClientError), match="429"):
        await desk.upload()
    with pytest.raises((openai.InternalServerError, anthropic.InternalServerError, errors.ServerError), match="500"):
        await desk.upload()
    assert await desk.upload()


async def test_an_upload_in_pieces_is_put_together(simulate, gemini_to):
    big = bytes(range(256)) * 40_000
    client = await gemini_to(await simulate())
    made = await client.aio.files.upload(file=io.BytesIO(big), config={"mime_type": "application/pdf"})
    assert made.size_bytes == len(big)
    assert base64.b64decode(made.sha256_hash).decode() == hashlib.sha256(big).hexdigest()


async def test_openai_wants_to_know_what_a_file_is_for(simulate, openai_to):
    client = await openai_to(await simulate())
    with pytest.raises(openai.BadRequestError, match="'purpose' is a required property"):
        await client.files.create(file=b"x", purpose="")


APIS = {"chat": "openai", "responses": "openai", "messages": "anthropic", "gemini": "google"}


@pytest.fixture
def name_file(openai_to, anthropic_to, gemini_to):
    """One request through pydantic-ai that names an uploaded file."""

    async def ask(api, sim, name):
        match api:
            case "chat":
                model = OpenAIChatModel("m", provider=OpenAIProvider(openai_client=await openai_to(sim)))
            case "responses":
                model = OpenAIResponsesModel("m", provider=OpenAIProvider(openai_client=await openai_to(sim)))
            case "messages":
                model = AnthropicModel("m", provider=AnthropicProvider(anthropic_client=await anthropic_to(sim)))
            case "gemini":
                model = GoogleModel("m", provider=GoogleProvider(client=await gemini_to(sim)))
                name = f"https://generativelanguage.googleapis.com/v1beta/files/{name}"
        file = UploadedFile(file_id=name, provider_name=model.system, media_type="application/pdf")
        return (await model_request(model, [ModelRequest([UserPromptPart(["Read.", file])])])).text

    return ask


STATUS = {"openai": 404, "anthropic": 404, "google": 403}


@pytest.mark.parametrize("api", APIS)
async def test_a_request_may_name_a_file_until_it_vanishes(simulate, files_at, name_file, api):
    sim = await simulate(script=Script(strict=True))
    desk = await files_at(APIS[api], sim)
    name = await desk.upload()
    assert await name_file(api, sim, name)
    assert sim.expire_files(name) == 1
    with pytest.raises(Exception, match=desk.words.format(name=name)) as caught:
        await name_file(api, sim, name)
    assert caught.value.status_code == STATUS[APIS[api]]
    assert [request.number for request in sim.requests] == [1, 0]
    assert await name_file(api, sim, await desk.upload())


@pytest.mark.parametrize("api", APIS)
async def test_a_file_expires_after_so_many_requests_to_models(simulate, files_at, name_file, ask_openai, api):
    sim = await simulate(script=Script(files_expire_after=2))
    desk = await files_at(APIS[api], sim)
    name = await desk.upload()
    assert await name_file(api, sim, name)
    await ask_openai(sim)
    with pytest.raises(Exception, match=desk.words.format(name=name)):
        await name_file(api, sim, name)
    with pytest.raises(desk.gone):
        await desk.look_up(name)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("vendor", VENDORS)
async def test_a_file_of_another_vendor_is_not_known(simulate, files_at, name_file, vendor, api):
    sim = await simulate(script=Script())
    name = await (await files_at(vendor, sim)).upload()
    if vendor == APIS[api]:
        assert await name_file(api, sim, name)
        return
    with pytest.raises(Exception, match=rf"{name}"):
        await name_file(api, sim, name)


async def test_a_tools_own_data_names_no_file(simulate, ask_anthropic, ask_openai):
    call = {"type": "tool_use", "id": "a", "name": "f", "input": {"file_id": "file-1"}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
    messages = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    sim = await simulate(Text(text="x", repeat=True))
    assert await ask_anthropic(sim, messages=messages)
    tool = {"type": "function", "function": {"name": "f", "parameters": {"file_id": "file-1"}}}
    assert await ask_openai(sim, tools=[tool])


async def test_a_file_in_a_tools_result_is_looked_up_too(simulate, ask_anthropic):
    source = {"type": "document", "source": {"type": "file", "file_id": "file_1"}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": [source]}
    with pytest.raises(anthropic.NotFoundError, match="File not found: file_1"):
        await ask_anthropic(await simulate(), messages=[{"role": "user", "content": [result]}])
