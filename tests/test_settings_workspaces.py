"""What `endstop.toml` may say about workspaces, and which ref an agent may ask for."""

import pytest

from activities.catalog import routes
from activities.spec import InvalidSpec, check_agent, read_agent
from settings import SettingsError, load_settings

MARKER = "MARKER-5f3c9a"
PLACES = {
    'git = "../repo dir"': ("file", "{up}/repo%20dir"),
    'git = "/srv/repo.git"': ("file", "file:///srv/repo.git"),
    'git = "file:///srv/repo.git"': ("file", "file:///srv/repo.git"),
    'git = "https://forge.example/a/b.git"': ("https", "https://forge.example/a/b.git"),
    'git = "ssh://git@forge.example:22/a/b.git"': ("ssh", "ssh://git@forge.example:22/a/b.git"),
    'git = "git@forge.example:a/b.git"': ("ssh", "git@forge.example:a/b.git"),
    'git = "forge:a/b.git"': ("ssh", "forge:a/b.git"),
    'git = "./odd:name"': ("file", "{here}/odd%3Aname"),
}


def declared(folder, text):
    (folder / "endstop.toml").write_text(f"[workspaces.app]\n{text}\n")
    return load_settings(folder / "endstop.toml", {}).declared


@pytest.mark.parametrize(("text", "place"), PLACES.items(), ids=PLACES)
def test_a_repository_is_an_address_or_a_path_beside_the_settings(tmp_path, text, place):
    here = tmp_path / "here"
    here.mkdir()
    workspace = declared(here, text).workspaces["app"]
    transport, address = place
    address = address.format(up=f"{here.as_uri()}/..", here=here.as_uri())
    assert (workspace.transport, workspace.git) == (transport, address)


def test_an_archive_is_a_path_beside_the_settings(tmp_path):
    assert declared(tmp_path, 'archive = "app.tar.gz"').workspaces["app"].archive == tmp_path / "app.tar.gz"


A_REPOSITORY = 'git: a repository is a path, "https://host/path", "ssh://user@host/path" or "user@host:path"'
ONE = 'a workspace is made of exactly one of "source", "git" and "archive"'
NO_SECRET = "git: a repository's address holds no password or token; git finds one in ~/.netrc or by a helper"
MISTAKES = {
    "": ONE,
    'source = "a"\ngit = "b"': ONE,
    'git = "a"\narchive = "b.zip"': ONE,
    'source = "a"\nref = "main"': "ref: unknown key, there are: name, source",
    f'git = "https://ada:{MARKER}@forge/a"': NO_SECRET,
    f'git = "https://{MARKER}@forge/a"': NO_SECRET,
    f'git = "ssh://ada:{MARKER}@forge/a"': NO_SECRET,
    'git = "http://forge/a"': A_REPOSITORY,
    'git = "git://forge/a"': A_REPOSITORY,
    'git = "ext::sh -c touch% x"': A_REPOSITORY,
    'git = "https://"': A_REPOSITORY,
    'git = "--upload-pack=touch x"': A_REPOSITORY,
    'git = "a\\u001b[2J"': A_REPOSITORY,
    'git = ""': A_REPOSITORY,
    'git = "a"\nref = "--exec=x"': "ref: should be a branch, a tag or a commit, such as",
    'git = "a"\nref = "main:refs/heads/x"': "ref: should be a branch, a tag or a commit, such as",
    'git = "a"\nrefs = ["^main"]': "refs[0]: should be a branch, a tag or a commit, such as",
    'archive = "a.rar"': "archive: an archive is a file that ends in .tar.gz, .tgz, .tar, .zip",
}


@pytest.mark.parametrize(("text", "line"), MISTAKES.items(), ids=MISTAKES)
def test_a_mistake_is_one_line_that_names_the_place_and_shows_no_secret(tmp_path, text, line):
    with pytest.raises(SettingsError) as refused:
        declared(tmp_path, text)
    told = str(refused.value)
    assert told.removeprefix(f"{tmp_path}/endstop.toml: workspaces.app").lstrip(".: ").startswith(line)
    assert MARKER not in told
    assert "\n" not in told


GIT = 'git = "repo"\nref = "main"\nrefs = ["release-*", "v1"]'


def checked(folder, text, **agent):
    found = declared(folder, text)
    agent = read_agent({"models": ["openai:gpt-5"], "workspace": "app", **agent})
    check_agent(agent, found, routes(found))


@pytest.mark.parametrize("ref", ["main", "release-2", "release-2/x", "v1"])
def test_an_agent_may_name_the_refs_that_the_operator_allows(tmp_path, ref):
    checked(tmp_path, GIT, workspace_ref=ref)


NOT_ALLOWED = {
    "v2": "agent: workspace_ref: workspace app does not allow v2; allowed: main, release-*, v1",
    "main2": "agent: workspace_ref: workspace app does not allow main2; allowed: main, release-*, v1",
    "-x": 'agent: workspace_ref: should be a branch, a tag or a commit, such as "main" or "release-2"',
    "release-\u001b[2J": 'agent: workspace_ref: should be a branch, a tag or a commit, such as "main" or "release-2"',
    "release-2:x": 'agent: workspace_ref: should be a branch, a tag or a commit, such as "main" or "release-2"',
    "release-2..3": 'agent: workspace_ref: should be a branch, a tag or a commit, such as "main" or "release-2"',
    "": "agent: workspace_ref: should have at least 1 character",
}


@pytest.mark.parametrize(("ref", "line"), NOT_ALLOWED.items(), ids=map(repr, NOT_ALLOWED))
def test_any_other_ref_is_refused_with_those_that_are_allowed(tmp_path, ref, line):
    with pytest.raises(InvalidSpec) as refused:
        checked(tmp_path, GIT, workspace_ref=ref)
    assert str(refused.value) == line


def test_a_ref_of_what_is_not_from_git_is_refused(tmp_path):
    with pytest.raises(InvalidSpec, match=r"workspace app is not from git; leave workspace_ref out"):
        checked(tmp_path, 'source = "project"', workspace_ref="main")
    with pytest.raises(InvalidSpec, match=r"the agent names no workspace; set workspace"):
        checked(tmp_path, GIT, workspace=None, workspace_ref="main")
