"""Settings: where they come from, what is refused, what a project may not decide, how files are edited."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from ricordo.config.files import locked
from ricordo.config.loading import (
    SETTINGS,
    Config,
    ConfigProvider,
    distrust,
    init_project,
    is_trusted,
    load_config,
    locate_store,
    set_value,
    trust,
    unset_value,
)
from ricordo.errors import NotFound, Unavailable, UsageError


class Place:
    """A user's home folders and a project, all below one temporary folder."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.deep = self.project / "src" / "deep"
        self.deep.mkdir(parents=True)
        self.user_file = root / "config" / "config.toml"
        self.user_file.parent.mkdir()
        self.project_file = self.project / ".ricordo" / "config.toml"
        self.data = root / "data"
        self.env = {
            "RICORDO_CONFIG_HOME": str(self.user_file.parent),
            "RICORDO_DATA_HOME": str(self.data),
        }

    def write_user(self, text: str) -> None:
        self.user_file.write_text(text, encoding="utf-8")

    def write_project(self, text: str) -> None:
        self.project_file.parent.mkdir(exist_ok=True)
        self.project_file.write_text(text, encoding="utf-8")

    def load(self, flags: Mapping[str, object] | None = None, /, **variables: str) -> Config:
        return load_config(flags, env=self.env | variables, start=self.deep)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_without_any_file_every_setting_has_its_default(place: Place) -> None:
    config = place.load()
    assert config == Config()
    assert (config.search.limit, config.tiers.project_weight, config.retrieval.vector_weight) == (10, 0.8, None)
    assert config.source("search.limit") == "default"


def test_a_flag_beats_the_environment_beats_the_project_beats_the_user(place: Place) -> None:
    place.write_user("[search]\nlimit = 2\n")
    assert place.load().search.limit == 2
    assert place.load().source("search.limit") == f"user:{place.user_file}"
    place.write_project("[search]\nlimit = 3\n")
    assert place.load().search.limit == 3
    assert place.load().source("search.limit") == f"project:{place.project_file}"
    assert place.load(RICORDO_SEARCH_LIMIT="4").search.limit == 4
    assert place.load(RICORDO_SEARCH_LIMIT="4").source("search.limit") == "env:RICORDO_SEARCH_LIMIT"
    assert place.load({"search.limit": 5}, RICORDO_SEARCH_LIMIT="4").search.limit == 5


def test_a_flag_that_was_not_given_decides_nothing(place: Place) -> None:
    assert place.load({"search.limit": None}, RICORDO_SEARCH_LIMIT="4").search.limit == 4


def test_the_nearest_project_file_counts_alone(place: Place) -> None:
    place.write_project("[search]\nlimit = 3\nmin_fit = 0.2\n")
    nearer = place.deep / ".ricordo" / "config.toml"
    nearer.parent.mkdir()
    nearer.write_text("[search]\nlimit = 4\n", encoding="utf-8")
    assert (place.load().search.limit, place.load().search.min_fit) == (4, 0.5)


def test_an_empty_variable_is_an_unset_one(place: Place) -> None:
    place.write_user("[search]\nlimit = 2\n")
    assert place.load(RICORDO_SEARCH_LIMIT=" ").search.limit == 2


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("CO_KNOWLEDGE_SEARCH_BACKEND", "fts5", "search.backend", "lexical"),
        ("CO_KNOWLEDGE_EMBEDDING_PROVIDER", "ollama", "embedding.provider", "ollama"),
        ("CO_KNOWLEDGE_EMBEDDING_MODEL", "nomic", "embedding.model", "nomic"),
        ("RICORDO_EMBEDDING_API_KEYS", "one, two", "embedding.api_keys", ("one", "two")),
        ("RICORDO_USAGE_LOG", "off", "usage.log", False),
        ("RICORDO_TIERS_TEAM_WEIGHT", "2", "tiers.team_weight", 2.0),
    ],
)
def test_variables_are_read_as_their_type(place: Place, variable: str, text: str, name: str, value: object) -> None:
    assert place.load(**{variable: text}).get(name) == value


def test_our_own_variable_wins_over_its_alias(place: Place) -> None:
    config = place.load(CO_KNOWLEDGE_SEARCH_BACKEND="grep", RICORDO_SEARCH_BACKEND="lexical")
    assert config.search.backend == "lexical"


def test_every_setting_can_be_given_as_its_variable(place: Place) -> None:
    for known in SETTINGS.values():
        text = {"bool": "true", "int": "64", "float": "0.5", "str": "x"}.get(known.base_type, "x")
        config = place.load(**{known.variable: known.choices[0] if known.choices else text})
        assert config.source(known.name) == f"env:{known.variable}"


def test_every_setting_is_described_and_its_default_passes_its_own_check() -> None:
    for known in SETTINGS.values():
        assert known.doc.endswith("."), known.name
        if known.default is not None:
            assert known.check(known.default) == known.default


def test_a_weight_of_zero_is_zero_and_not_unset(place: Place) -> None:
    place.write_user("[retrieval]\nvector_weight = 0\n[tiers]\nteam_weight = 0\n")
    config = place.load(RICORDO_RETRIEVAL_FTS_WEIGHT="0")
    assert (config.retrieval.vector_weight, config.retrieval.fts_weight) == (0.0, 0.0)
    assert config.tiers.team_weight == 0.0
    assert config.retrieval.recency_weight is None


@pytest.mark.parametrize("text", ["nan", "-0.1", "inf", "-inf", "1e308", "much", ""])
def test_a_weight_that_is_no_weight_is_refused(place: Place, text: str) -> None:
    with pytest.raises(UsageError, match=r"retrieval\.vector_weight"):
        place.load({"retrieval.vector_weight": text})


def test_a_bad_number_in_a_file_or_variable_says_where_it_stands(place: Place) -> None:
    with pytest.raises(UsageError, match="RICORDO_RETRIEVAL_FTS_WEIGHT"):
        place.load(RICORDO_RETRIEVAL_FTS_WEIGHT="nan")
    place.write_user("[retrieval]\nfts_weight = nan\n")
    with pytest.raises(UsageError, match=r"config\.toml"):
        place.load()


@pytest.mark.parametrize(
    "line",
    [
        "[search]\nlimit = '7'",
        "[search]\nlimit = true",
        "[search]\nlimit = 7.5",
        "[search]\nlimit = 0",
        "[search]\nlimit = 99999999999999999999",
        "[usage]\nlog = 1",
        "[search]\nbackend = 'fuzzy'",
        "[search]\nprofile = ['a']",
        "[embedding]\napi_keys = 'one'",
        "[embedding]\napi_keys = ['one', 2]",
        "[search]\nmin_fit = 1.5",
        "[store]\nlocation = ''",
        "search = 3",
        "[profiles]\nmine = 3",
    ],
)
def test_a_value_of_the_wrong_type_or_range_is_a_usage_error_with_a_hint(place: Place, line: str) -> None:
    place.write_user(line)
    with pytest.raises(UsageError) as refused:
        place.load()
    assert str(place.user_file) in refused.value.message
    assert refused.value.hint


@pytest.mark.parametrize(
    ("line", "near"),
    [
        ("[search]\nlimmit = 3", "search.limit"),
        ("[serch]\nlimit = 3", "search.limit"),
        ("limit = 3", "search.limit"),
        ("[search]\nzzz = 3", "backend"),
    ],
)
def test_an_unknown_setting_is_refused_with_the_nearest_names(place: Place, line: str, near: str) -> None:
    place.write_user(line)
    with pytest.raises(UsageError) as refused:
        place.load()
    assert near in refused.value.hint
    assert str(place.user_file) in refused.value.message


def test_a_section_that_no_plugin_brings_any_more_is_ignored_and_named(place: Place) -> None:
    place.write_user("[calendar]\nfolder = '/somewhere'\n[search]\nlimit = 3")
    config = place.load()
    assert config.search.limit == 3
    assert config.dropped == ("calendar",)


def test_a_misspelled_variable_of_a_known_section_is_refused(place: Place) -> None:
    with pytest.raises(UsageError) as refused:
        place.load(RICORDO_SEARCH_LIMT="3")
    assert "RICORDO_SEARCH_LIMIT" in refused.value.hint


def test_an_unknown_flag_is_refused(place: Place) -> None:
    with pytest.raises(UsageError):
        place.load({"search.limitt": 3})


def test_a_file_that_is_not_toml_is_a_usage_error_that_names_the_line(place: Place) -> None:
    place.write_user("[search]\nlimit = \n")
    with pytest.raises(UsageError, match="line 2"):
        place.load()
    place.user_file.write_bytes(b"[search]\nprofile = '\xff\xfe'\n")
    with pytest.raises(UsageError, match="not valid TOML"):
        place.load()


def test_a_byte_order_mark_does_no_harm(place: Place) -> None:
    place.user_file.write_bytes(b"\xef\xbb\xbf[search]\nlimit = 4\n")
    assert place.load().search.limit == 4


def test_keys_appear_neither_in_repr_nor_in_listings_nor_in_errors(place: Place) -> None:
    config = place.load(RICORDO_EMBEDDING_API_KEYS="sk-one,sk-two")
    assert config.embedding.api_keys == ("sk-one", "sk-two")
    assert "sk-" not in repr(config) + str(config.to_dict())
    assert config.to_dict()["embedding"]["api_keys"] == ["***", "***"]
    place.write_user("[embedding]\napi_keys = 'sk-three'\n")
    with pytest.raises(UsageError) as refused:
        place.load()
    assert "sk-" not in str(refused.value.to_dict())


def test_profiles_are_kept_as_written_and_the_projects_replace_the_users(place: Place) -> None:
    place.write_user("[profiles.mine.weights]\nvector = 1\n[profiles.other]\nk = 60\n")
    place.write_project("[profiles.mine]\nweights = {lexical = 0.5}\n")
    assert place.load().profiles == {"mine": {"weights": {"vector": 1}}, "other": {"k": 60}}
    trust(place.project_file, env=place.env)
    assert place.load().profiles == {"mine": {"weights": {"lexical": 0.5}}, "other": {"k": 60}}


def test_a_path_in_a_file_is_relative_to_the_project_and_a_flag_to_the_current_folder(place: Place) -> None:
    place.write_project("[knowledge]\nfolder = 'notes'\n")
    trust(place.project_file, env=place.env)
    assert place.load().knowledge.folder == str(place.project / "notes")
    assert place.load({"knowledge.folder": "../notes"}).knowledge.folder == str(place.project / "src" / "notes")
    assert place.load({"knowledge.folder": "~/notes"}).knowledge.folder == str(Path.home() / "notes")


def test_an_untrusted_project_file_decides_nothing_sensitive_and_says_so(place: Place) -> None:
    place.write_project(
        "[search]\nlimit = 3\n[embedding]\nprovider = 'openai'\nbase_url = 'https://evil.example'\n"
        "[store]\nlocation = '/elsewhere.db'\n[tiers]\nteam = 'postgresql://evil.example/x'\n"
    )
    config = place.load()
    assert config.search.limit == 3
    assert (config.embedding.provider, config.embedding.base_url) == ("local", "")
    assert (config.store.location, config.tiers.team) == (None, None)
    assert config.untrusted == ("embedding.base_url", "embedding.provider", "store.location", "tiers.team")


def test_a_trusted_project_file_decides_until_it_changes(place: Place) -> None:
    place.write_project("[embedding]\nprovider = 'ollama'\n")
    trust(place.project_file, env=place.env)
    assert place.load().embedding.provider == "ollama"
    assert place.load().untrusted == ()
    place.write_project("[embedding]\nprovider = 'openai'\n")
    assert not is_trusted(place.project_file, env=place.env)
    assert place.load().embedding.provider == "local"


def test_trust_is_for_one_path_and_can_be_taken_back(place: Place, tmp_path: Path) -> None:
    place.write_project("[embedding]\nprovider = 'ollama'\n")
    copy = tmp_path / "copy.toml"
    copy.write_bytes(place.project_file.read_bytes())
    trust(place.project_file, env=place.env)
    assert not is_trusted(copy, env=place.env)
    assert distrust(place.project_file, env=place.env)
    assert not distrust(place.project_file, env=place.env)
    assert place.load().embedding.provider == "local"


def test_a_damaged_trust_list_trusts_nobody(place: Place) -> None:
    place.write_project("[embedding]\nprovider = 'ollama'\n")
    trust(place.project_file, env=place.env)
    for damage in ("{", "[]", '"yes"'):
        (place.data / "trusted.json").write_text(damage, encoding="utf-8")
        assert place.load().embedding.provider == "local"


def test_trusting_a_file_that_is_not_there_is_not_found(place: Place) -> None:
    with pytest.raises(NotFound):
        trust(place.project_file, env=place.env)


def test_the_users_own_file_needs_no_trust(place: Place) -> None:
    place.write_user("[embedding]\nprovider = 'ollama'\n")
    assert place.load().embedding.provider == "ollama"


def test_the_provider_reads_again_only_after_a_change(place: Place) -> None:
    provider = ConfigProvider(env=place.env, start=place.deep)
    first = provider()
    assert provider() is first
    place.write_user("[search]\nlimit = 2\n")
    assert provider().search.limit == 2
    place.write_project("[search]\nlimit = 3\n")
    assert provider().search.limit == 3
    place.project_file.unlink()
    assert provider().search.limit == 2
    assert provider() is provider()


def test_the_provider_notices_trust(place: Place) -> None:
    place.write_project("[embedding]\nprovider = 'ollama'\n")
    provider = ConfigProvider(env=place.env, start=place.deep)
    assert provider().embedding.provider == "local"
    trust(place.project_file, env=place.env)
    assert provider().embedding.provider == "ollama"


def test_the_provider_complains_about_a_broken_file_until_it_is_mended(place: Place) -> None:
    provider = ConfigProvider({"search.profile": "rrf"}, env=place.env, start=place.deep)
    place.write_user("[search\n")
    for _ in range(2):
        with pytest.raises(UsageError):
            provider()
    place.write_user("[search]\nlimit = 6\n")
    assert (provider().search.limit, provider().search.profile) == (6, "rrf")


def test_setting_a_value_keeps_comments_order_and_other_content(place: Place) -> None:
    before = "# mine\n[search]\nlimit = 3 # few\n\n[profiles.x]\nk = 1 # keep\n"
    place.write_user(before)
    assert set_value("search.limit", "7", env=place.env, start=place.deep) == 7
    assert place.user_file.read_text(encoding="utf-8") == before.replace("limit = 3", "limit = 7")
    assert set_value("embedding.api_keys", "a,b", env=place.env, start=place.deep) == ("a", "b")
    config = place.load()
    assert (config.search.limit, config.embedding.api_keys, config.profiles) == (
        7,
        ("a", "b"),
        {"x": {"k": 1}},
    )


def test_unsetting_takes_only_that_value_away(place: Place) -> None:
    place.write_user("[search]\nlimit = 3\nmin_fit = 0.2\n[usage]\nlog = false\n")
    assert unset_value("search.limit", env=place.env, start=place.deep)
    assert unset_value("usage.log", env=place.env, start=place.deep)
    assert not unset_value("search.limit", env=place.env, start=place.deep)
    assert place.user_file.read_text(encoding="utf-8") == "[search]\nmin_fit = 0.2\n"


@pytest.mark.parametrize("text", ["search.limit = 3\n", "search = {limit = 3, min_fit = 0.1}\n"])
def test_a_file_written_in_another_style_of_toml_can_be_edited(place: Place, text: str) -> None:
    place.write_user(text)
    set_value("search.limit", "8", env=place.env, start=place.deep)
    set_value("search.min_fit", "0.5", env=place.env, start=place.deep)
    assert (place.load().search.limit, place.load().search.min_fit) == (8, 0.5)
    unset_value("search.limit", env=place.env, start=place.deep)
    assert (place.load().search.limit, place.load().search.min_fit) == (10, 0.5)


def test_a_refused_value_leaves_the_file_as_it_was(place: Place) -> None:
    place.write_user("[search]\nlimit = 3\n")
    for name, text in (("search.limit", "many"), ("search.limitt", "3"), ("search.min_fit", "nan")):
        with pytest.raises(UsageError):
            set_value(name, text, env=place.env, start=place.deep)
    assert place.user_file.read_text(encoding="utf-8") == "[search]\nlimit = 3\n"


def test_a_broken_file_is_not_overwritten(place: Place) -> None:
    place.write_user("[search\n")
    with pytest.raises(UsageError):
        set_value("search.limit", "3", env=place.env, start=place.deep)
    assert place.user_file.read_text(encoding="utf-8") == "[search\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no file modes and links need a privilege")
def test_a_written_file_is_private_and_a_link_stays_a_link(place: Place, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.toml"
    target.write_text("", encoding="utf-8")
    target.chmod(0o644)
    place.user_file.symlink_to(target)
    set_value("search.limit", "3", env=place.env, start=place.deep)
    assert place.user_file.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o600
    assert "limit = 3" in target.read_text(encoding="utf-8")


def test_a_value_typed_in_a_folder_means_the_same_when_read_elsewhere(place: Place) -> None:
    init_project(place.project)
    for scope in ("user", "project"):
        set_value("knowledge.folder", "notes", scope=scope, env=place.env, start=place.deep)
        config = load_config(env=place.env, start=place.project)
        assert config.knowledge.folder == str(place.deep / "notes")
    assert "src/deep/notes" in place.project_file.read_text(encoding="utf-8").replace("\\\\", "/")


def test_a_project_file_the_user_writes_is_trusted_but_one_that_was_not_stays_so(place: Place) -> None:
    init_project(place.project)
    set_value("embedding.provider", "ollama", scope="project", env=place.env, start=place.deep)
    assert place.load().embedding.provider == "ollama"
    unset_value("embedding.provider", scope="project", env=place.env, start=place.deep)
    assert is_trusted(place.project_file, env=place.env)
    place.write_project("[embedding]\nbase_url = 'https://evil.example'\n")
    set_value("embedding.provider", "ollama", scope="project", env=place.env, start=place.deep)
    assert place.load().untrusted == ("embedding.base_url", "embedding.provider")


def test_a_project_setting_needs_a_project(place: Place) -> None:
    with pytest.raises(NotFound) as missing:
        set_value("search.limit", "3", scope="project", env=place.env, start=place.deep)
    assert "ricordo init" in missing.value.hint
    with pytest.raises(UsageError):
        set_value("search.limit", "3", scope="planet", env=place.env, start=place.deep)


def test_processes_that_set_values_at_once_lose_none(place: Place) -> None:
    names = ["search.limit", "store.keep_versions", "hooks.budget", "embedding.batch_size"]
    code = (
        "import sys\nfrom ricordo.config.loading import set_value\n"
        "for number in range(1, 6): set_value(sys.argv[1], str(number))\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, name], env=os.environ | place.env, cwd=place.deep)
        for name in names
    ]
    assert [process.wait(timeout=60) for process in running] == [0, 0, 0, 0]
    assert [place.load().get(name) for name in names] == [5, 5, 5, 5]


def test_a_lock_held_by_another_is_waited_for_and_then_reported(place: Place) -> None:
    with (
        locked(place.user_file),
        pytest.raises(Unavailable, match="another process"),
        locked(place.user_file, 0.05),
    ):
        pass
    with locked(place.user_file, 0.05):
        pass


def test_the_store_is_the_flag_then_the_variable_then_the_project_then_the_users(place: Place) -> None:
    default = locate_store(None, place.load(), place.deep, env=place.env)
    assert (default.path, default.origin) == (place.data / "ricordo.db", "default")
    place.write_user("[store]\nlocation = '/mine/all.db'\n")
    own = locate_store(None, place.load(), place.deep, env=place.env)
    assert (own.path, own.origin) == (Path("/mine/all.db").absolute(), f"user:{place.user_file}")
    folder = init_project(place.project)
    found = locate_store(None, place.load(), place.deep, env=place.env)
    assert (found.path, found.origin) == (folder / "ricordo.db", "project")
    config = place.load(RICORDO_STORE="here.db")
    named = locate_store(None, config, place.deep, env=place.env)
    assert (named.path, named.origin) == (place.deep / "here.db", "env:RICORDO_STORE")
    flagged = locate_store("flag.db", config, place.deep, env=place.env)
    assert (flagged.path, flagged.origin) == (place.deep / "flag.db", "flag")


def test_the_nearest_project_upwards_has_the_store(place: Place) -> None:
    init_project(place.project)
    nearer = init_project(place.deep)
    assert locate_store(None, Config(), place.deep).path == nearer / "ricordo.db"
    assert locate_store(None, Config(), place.project).path == place.project / ".ricordo" / "ricordo.db"


def test_a_trusted_project_may_keep_its_store_elsewhere(place: Place) -> None:
    place.write_project("[store]\nlocation = 'elsewhere/all.db'\n")
    assert locate_store(None, place.load(), place.deep).path == place.project_file.parent / "ricordo.db"
    trust(place.project_file, env=place.env)
    assert locate_store(None, place.load(), place.deep).path == place.project / "elsewhere" / "all.db"


def test_a_folder_as_store_means_the_store_in_it(place: Place) -> None:
    assert locate_store(str(place.project), Config(), place.deep).path == place.project / "ricordo.db"
    folder = init_project(place.project)
    assert locate_store(str(place.project), Config(), place.deep).path == folder / "ricordo.db"


@pytest.mark.parametrize(
    ("location", "error"),
    [
        ("postgresql://host/team?schema=No!", UsageError),
        ("postgres://host/team?workspace=", UsageError),
        ("https://host/team.db", UsageError),
        (" ", UsageError),
    ],
)
def test_what_is_not_a_file_is_refused_with_a_hint(place: Place, location: str, error: type[UsageError]) -> None:
    with pytest.raises(error) as refused:
        locate_store(location, Config(), place.deep)
    assert refused.value.hint


def test_making_a_project_twice_changes_nothing(place: Place) -> None:
    folder = init_project(place.project)
    assert folder == place.project / ".ricordo"
    assert (folder / ".gitignore").read_text(encoding="utf-8") == "*\n"
    if os.name != "nt":
        assert folder.stat().st_mode & 0o777 == 0o700
    (folder / ".gitignore").write_text("*.db\n", encoding="utf-8")
    assert init_project(place.project) == folder
    assert (folder / ".gitignore").read_text(encoding="utf-8") == "*.db\n"
    with pytest.raises(NotFound):
        init_project(place.project / "absent")


def test_loading_settings_imports_nothing_heavy(place: Place) -> None:
    code = (
        "import sys\nfrom ricordo.config.loading import load_config\nload_config()\n"
        "heavy = {'numpy', 'click', 'rich', 'tomlkit', 'httpx', 'apsw', 'platformdirs', 'difflib'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | place.env,
        cwd=place.deep,
        capture_output=True,
        text=True,
    )
    assert shown.stdout.strip() == "[]", shown.stderr


def test_the_reference_of_settings_is_current() -> None:
    root = Path(__file__).parents[2]
    for name, text in runpy.run_path(str(root / "tools" / "make_docs.py"))["pages"]().items():
        shown = (root / "docs" / name).read_text(encoding="utf-8")
        assert shown == text, f"docs/{name} is out of date: run 'make docs'"


def test_a_setting_of_an_earlier_version_is_ignored_named_and_can_be_removed(place: Place) -> None:
    place.write_user('[memory]\nask_agent = true\ncapture = "off"\n')
    config = place.load(RICORDO_MEMORY_MODEL_TOKENS_PER_DAY="5")
    assert config.dropped == ("memory.ask_agent", "memory.model_tokens_per_day")
    assert config.memory.capture == "off"
    with pytest.raises(UsageError, match="any more"):
        set_value("memory.ask_agent", "true", env=place.env)
    assert unset_value("memory.ask_agent", env=place.env)
    assert place.load().dropped == ()
