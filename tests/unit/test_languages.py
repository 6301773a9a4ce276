"""Which language a text is in, what becomes of its words, and what the shipped model can read."""

from __future__ import annotations

from datetime import datetime

import pytest

from ricordo.models.local_onnx import UNREAD, shipped_counter
from ricordo.search.query import parse_query
from ricordo.search.words import QueryWords, topic_of
from ricordo.text.languages import language_of, passage_languages
from ricordo.text.words import Analyzer, fold
from ricordo.values.times import spoken_day

SENTENCES = {
    "en": "The release was moved to April because the tests were not ready in time.",
    "de": "Die Veröffentlichung wurde auf April verschoben, weil die Tests nicht rechtzeitig fertig waren.",
    "fr": "La sortie a été repoussée en avril parce que les tests n'étaient pas prêts à temps.",
    "es": "El lanzamiento se pospuso a abril porque las pruebas no estaban listas a tiempo.",
    "it": "Il rilascio è stato rimandato ad aprile perché i test non erano pronti in tempo.",
    "pt": "O lançamento foi adiado para abril porque os testes não estavam prontos a tempo.",
    "nl": "De release is naar april verplaatst omdat de tests niet op tijd klaar waren.",
    "pl": "Wydanie zostało przesunięte na kwiecień, ponieważ testy nie były gotowe na czas, a nie było ich wiele.",
    "tr": "Testler zamanında hazır olmadığı için sürüm nisan ayına ertelendi ve bu bir sorun oldu.",
    "ru": "Выпуск перенесли на апрель, потому что тесты не были готовы вовремя.",
    "ar": "تم تأجيل الإصدار إلى أبريل لأن الاختبارات لم تكن جاهزة في الوقت المحدد.",
    "hi": "रिलीज़ को अप्रैल तक टाल दिया गया क्योंकि परीक्षण समय पर तैयार नहीं थे।",
    "zh": "由于测试没有按时准备好，发布推迟到了四月。",
    "ja": "テストが間に合わなかったので、リリースは四月に延期されました。",
    "ko": "테스트가 제때 준비되지 않아 출시가 4월로 연기되었습니다.",
    "th": "การเปิดตัวถูกเลื่อนไปเป็นเดือนเมษายนเพราะการทดสอบไม่พร้อมทันเวลา",
    "el": "Η έκδοση μεταφέρθηκε στον Απρίλιο γιατί οι δοκιμές δεν ήταν έτοιμες.",
    "he": "ההשקה נדחתה לאפריל כי הבדיקות לא היו מוכנות בזמן.",
}
"""The same sentence in eighteen languages, written for these tests."""


@pytest.mark.parametrize("code", SENTENCES)
def test_a_sentence_is_taken_for_the_language_it_is_in(code: str) -> None:
    assert language_of(SENTENCES[code]) == code
    assert language_of(SENTENCES[code], short=True) == code


@pytest.mark.parametrize(
    "text",
    [
        "for item in items:\n    if item.die and not item.war:\n        print(item.name, end='')\n",
        "SELECT id, name FROM users WHERE id IN (1, 2, 3) AND state = 'en';",
        "kubernetes",
        "2026-11-16 10:44:03 ERROR 0x7f3a",
        "",
    ],
)
def test_code_names_and_numbers_are_in_no_language(text: str) -> None:
    assert language_of(text) in ("", "en")


def test_a_question_needs_only_one_small_word_or_letter() -> None:
    asked = [
        "Besprechungsnotizen zur Produktivität",
        "¿Dónde está?",
        "compte rendu de la réunion",
        "productivity notes",
    ]
    assert [language_of(one, short=True) for one in asked] == ["de", "es", "fr", ""]


def test_short_passages_have_the_language_of_their_text() -> None:
    texts = [SENTENCES["de"], "Raum 3, Nebeneingang", SENTENCES["de"], SENTENCES["en"]]
    assert passage_languages("\n".join(texts), texts) == ["de", "de", "de", "en"]


def test_two_small_words_of_another_language_do_not_take_a_title_out_of_an_english_text() -> None:
    title = "Crizotinib in ROS1 rearranged non small cell lung cancer."
    english = (
        "In this study we show that the drug is effective in patients with the mutation, and that it has few effects."
    )
    german = "Die Prüfung dauert nicht lange, und wer sie macht, ist frei."
    texts = [title, english, german]
    assert language_of(title) == "it"
    assert passage_languages("\n".join(texts), texts) == ["en", "en", "de"]


@pytest.mark.parametrize(
    "passage",
    [
        "- Jing Xu\n- Michelle Au ([msau42](https://example.org/msau42))\n- Niels de Vos\n- Rakshith R\n- Ada Li\n",
        "## `VolumeConfiguration` {#kubecontrollermanager-config-k8s-io-v1-VolumeConfiguration}\n\n**Appears in:**\n\n"
        "- [BinderConfiguration](#config-k8s-io-v1-BinderConfiguration)\n- [Other](#config-k8s-non-io-v1-Other)\n",
    ],
)
def test_names_of_people_and_programs_are_no_words_of_another_language(passage: str) -> None:
    english = "This is what it does, and how you can take part in the work that is done by all of us in these groups."
    assert set(passage_languages(f"{english}\n{passage}", [english, passage])) <= {"en", ""}


@pytest.mark.parametrize("code", SENTENCES)
def test_the_shipped_model_cannot_read_what_its_tokenizer_takes_to_pieces(code: str) -> None:
    tokens = shipped_counter().load().encode(SENTENCES[code], add_special_tokens=False).tokens
    pieces = [token.removeprefix("##") for token in tokens if token.removeprefix("##").isalpha() or token == "[UNK]"]
    share = sum(len(piece) == 1 or piece == "[UNK]" for piece in pieces) / len(pieces)
    assert (share > 0.5) == (code in UNREAD), (code, share)


def test_marks_belong_to_words() -> None:
    analyzer = Analyzer()
    assert analyzer.terms("हिन्दी में") == analyzer.terms("हिन्दी") + analyzer.terms("में")
    assert len(analyzer.terms("हिन्दी")) == 1
    assert analyzer.terms("مُحَمَّد") == analyzer.terms("محمد")
    assert analyzer.terms("שָׁלוֹם") == analyzer.terms("שלום")


@pytest.mark.parametrize(
    ("one", "other"),
    [("Éléphant", "elephant"), ("IŞIK", "ışık"), ("İstanbul", "istanbul"), ("Straße", "STRASSE"), ("Łódź", "lodz")],
)
def test_spellings_of_one_word_are_folded(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("code", "one", "other"),
    [
        ("de", "Häuser", "Haus"),
        ("fr", "continuation", "continuer"),
        ("es", "gatos", "gato"),
        ("tr", "kitaplar", "kitap"),
        ("ru", "книгами", "книга"),
        ("ar", "مدرسة", "مدرسه"),
        ("hi", "किताबों", "किताब"),
    ],
)
def test_words_are_stemmed_in_the_language_of_their_passage(code: str, one: str, other: str) -> None:
    analyzer = Analyzer().in_language(code)
    assert analyzer.terms(one) == analyzer.terms(other)


def test_a_store_that_does_not_stem_stems_in_no_language() -> None:
    analyzer = Analyzer("none")
    assert analyzer.in_language("de").terms("Häuser") == ["hauser"]
    assert analyzer.terms("книгами") == ["книгами"]


@pytest.mark.parametrize(
    ("english", "others"),
    [
        ("yesterday", ["gestern", "hier", "ayer", "昨天", "昨日", "вчера"]),
        ("last week", ["letzte Woche", "la semaine dernière", "la semana pasada", "上周", "先週"]),
        ("last month", ["letzten Monat", "le mois dernier", "el mes pasado", "上个月", "先月"]),
        ("3 days ago", ["vor 3 Tagen", "il y a 3 jours", "hace 3 días", "3天前", "3 日前"]),
        ("2 weeks ago", ["vor 2 Wochen", "il y a 2 semaines", "hace 2 semanas", "2 周前", "2週間前"]),
        ("friday", ["Freitag", "vendredi", "viernes", "星期五", "金曜日"]),
        ("last monday", ["letzten Montag", "lundi dernier", "el lunes pasado"]),
        ("today", ["heute", "aujourd’hui", "hoy", "今天", "今日"]),
    ],
)
def test_days_are_understood_as_people_name_them(english: str, others: list[str]) -> None:
    now = datetime(2026, 11, 18, 9, 30)
    assert spoken_day(english, now) is not None
    assert {other: spoken_day(other, now) for other in others} == dict.fromkeys(others, spoken_day(english, now))
    for other in others:
        parsed = parse_query(f"Brot after:{other} before:2099-01-01 pain")
        assert parsed.words == "Brot pain", parsed.notes
        assert parsed.filters.after == parse_query(f'after:"{english}"').filters.after


def test_words_that_only_begin_like_a_day_are_none() -> None:
    assert spoken_day("hier soir", datetime(2026, 11, 18)) is None
    assert parse_query("after:hier soir").words == "soir"


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Wie konfiguriere ich den Server?", ["konfiguri", "serv"]),
        ("Comment configurer le serveur ?", ["configur", "serveur"]),
        ("¿Cómo se configura el servidor?", ["configur", "servidor"]),
        ("怎么配置服务器", ["配置", "置服", "服务", "务器"]),
        ("サーバーの設定", ["サー", "ーバ", "バー", "設定"]),
    ],
)
def test_words_that_ask_are_not_looked_for(question: str, words: list[str]) -> None:
    code = language_of(question, short=True)
    asked = QueryWords(question, Analyzer(), [code]).asked(question)
    assert [terms[0] for terms in asked] == words
    without = QueryWords(question, Analyzer(), []).asked(question)  # no passage is in that language
    assert len(without) == len(words)


@pytest.mark.parametrize(
    ("words", "topic"),
    [
        ("notes about bread", "bread"),
        ("Notizen über Brot", "Brot"),
        ("zeig mir alle Notizen zur Miete", "Miete"),
        ("notes sur le pain", "le pain"),
        ("todas las notas sobre pan", "pan"),
        ("关于面包", "面包"),
        ("パンについてのメモ", "パン"),
        ("Notizen", "Notizen"),
    ],
)
def test_a_request_in_front_of_a_topic_is_left_out(words: str, topic: str) -> None:
    assert topic_of(words) == topic
