"""Times as people write them: ISO dates, words such as "last week" in fourteen languages, and spans such as 7d."""

from __future__ import annotations

import re
import time
import unicodedata
from datetime import UTC, date, datetime, timedelta
from functools import cache

from ricordo.errors import UsageError
from ricordo.patterns import late

_NAMES = {
    "now": "jetzt, maintenant, ahora, adesso, agora, nu, сейчас, 现在, 現在, 今",
    "today": "heute, aujourd'hui, hoy, oggi, hoje, vandaag, dzisiaj, dziś, сегодня, bugün, 今天, 今日, きょう, 오늘",
    "yesterday": "gestern, hier, ayer, ieri, ontem, gisteren, wczoraj, вчера, dün, 昨天, 昨日, きのう, 어제",
    "2 days ago": "vorgestern, avant-hier, anteayer, antes de ayer, l'altro ieri, anteontem, eergisteren,"
    " przedwczoraj, позавчера, 前天, 一昨日, おととい, 그저께",
    "tomorrow": "morgen, demain, mañana, domani, amanhã, jutro, завтра, yarın, 明天, 明日, あした, 내일",
    "this week": "diese woche, cette semaine, esta semana, questa settimana, deze week, ten tydzień, эта неделя,"
    " на этой неделе, bu hafta, 这周, 這週, 本周, 本週, 这个星期, 这星期, 今週, 이번 주, 이번주",
    "last week": "letzte woche, vorige woche, semaine dernière, la semaine dernière, semana pasada,"
    " la semana pasada, settimana scorsa, la settimana scorsa, semana passada, na semana passada, vorige week,"
    " afgelopen week, zeszły tydzień, w zeszłym tygodniu, прошлая неделя, на прошлой неделе, geçen hafta, 上周, 上週,"
    " 上个星期, 上星期, 先週, 지난주, 지난 주",
    "this weekend": "dieses wochenende, am wochenende, ce week-end, este fin de semana, questo fine settimana,"
    " este fim de semana, dit weekend, ten weekend, эти выходные, bu hafta sonu, 这周末, 本周末, 今週末, 이번 주말",
    "last weekend": "letztes wochenende, voriges wochenende, week-end dernier, le week-end dernier, le weekend dernier,"
    " fin de semana pasado, el fin de semana pasado, scorso fine settimana, lo scorso fine settimana,"
    " fim de semana passado, vorig weekend, afgelopen weekend, zeszły weekend, прошлые выходные, на прошлых выходных,"
    " geçen hafta sonu, 上周末, 先週末, 지난 주말, 지난주말",
    "this month": "diesen monat, dieser monat, ce mois, ce mois-ci, este mes, questo mese, este mês, deze maand,"
    " ten miesiąc, этот месяц, bu ay, 这个月, 本月, 今月, 이번 달, 이번달",
    "last month": "letzten monat, letzter monat, vorigen monat, mois dernier, le mois dernier, mes pasado,"
    " el mes pasado, mese scorso, il mese scorso, mês passado, no mês passado, vorige maand, zeszły miesiąc,"
    " прошлый месяц, в прошлом месяце, geçen ay, 上个月, 上個月, 上月, 先月, 지난달, 지난 달",
    "this year": "dieses jahr, cette année, este año, quest'anno, este ano, dit jaar, ten rok, этот год, bu yıl,"
    " 今年, 올해",
    "last year": "letztes jahr, voriges jahr, année dernière, l'année dernière, l'an dernier, año pasado,"
    " el año pasado, anno scorso, l'anno scorso, ano passado, no ano passado, vorig jaar, zeszły rok, прошлый год,"
    " в прошлом году, geçen yıl, 去年, 昨年, 작년",
    "monday": "montag, lundi, lunes, lunedì, segunda, segunda-feira, maandag, poniedziałek, понедельник, 周一, 星期一,"
    " 月曜, 月曜日, 월요일",
    "tuesday": "dienstag, mardi, martes, martedì, terça, terça-feira, dinsdag, wtorek, вторник, 周二, 星期二, 火曜,"
    " 火曜日, 화요일",
    "wednesday": "mittwoch, mercredi, miércoles, mercoledì, quarta, quarta-feira, woensdag, środa, среда, 周三,"
    " 星期三, 水曜, 水曜日, 수요일",
    "thursday": "donnerstag, jeudi, jueves, giovedì, quinta, quinta-feira, donderdag, czwartek, четверг, 周四, 星期四,"
    " 木曜, 木曜日, 목요일",
    "friday": "freitag, vendredi, viernes, venerdì, sexta, sexta-feira, vrijdag, piątek, пятница, 周五, 星期五, 金曜,"
    " 金曜日, 금요일",
    "saturday": "samstag, sonnabend, samedi, sábado, sabato, zaterdag, sobota, суббота, 周六, 星期六, 土曜, 土曜日,"
    " 토요일",
    "sunday": "sonntag, dimanche, domingo, domenica, zondag, niedziela, воскресенье, 周日, 星期日, 星期天, 日曜,"
    " 日曜日, 일요일",
}
_UNITS = {
    "hour": "stunde, stunden, heure, heures, hora, horas, ora, ore, uur, uren, час, часа, часов, 小时, 時間, 시간",
    "day": "tag, tage, tagen, jour, jours, día, días, giorno, giorni, dia, dias, dag, dagen, dzień, dni, день, дня,"
    " дней, gün, 天, 日, 일",
    "week": "woche, wochen, semaine, semaines, semana, semanas, settimana, settimane, week, weken, tydzień, tygodnie,"
    " неделя, неделю, недели, недель, hafta, 周, 个星期, 星期, 週, 週間, 주",
    "month": "monat, monate, monaten, mois, mes, meses, mese, mesi, mês, maand, maanden, miesiąc, miesiące, месяц,"
    " месяца, месяцев, ay, 个月, か月, ヶ月, 개월",
    "year": "jahr, jahre, jahren, an, ans, année, années, año, años, anno, anni, ano, anos, jaar, rok, lata, год, года,"
    " лет, yıl, 年, 년",
}
MOST_WORDS = 5
"""The longest names have so many words: il y a 3 jours."""
_LAST_BEFORE = "letzten, letzter, vorigen, vergangenen, geçen, afgelopen, vorige, в прошлый, в прошлую"
_LAST_BEHIND = "dernier, pasado, scorso, scorsa, passado, passada"
_BEFORE_NUMBERS = ("vor", "il y a", "hace", "ha")
_AGO_IN_OTHERS = late(
    rf"(?:(?:{'|'.join(_BEFORE_NUMBERS)})\s+(?P<before>\d{{1,5}})\s*(?P<unit_before>\D+?)"
    r"|(?P<behind>\d{1,5})\s*(?P<unit_behind>\D+?)\s*(?:fa|atras|geleden|temu|назад|once|之?前|前|전))"
)


def plain(text: str) -> str:
    """A name as it is compared: lower case, accents dropped, one space between words."""
    if text.isascii() and text.replace(" ", "").isalnum():
        return " ".join(text.lower().split())
    letters = unicodedata.normalize("NFKD", text.strip().lower().replace("’", "'").replace("ı", "i"))
    return " ".join(re.split(r"[\s_-]+", "".join(letter for letter in letters if not unicodedata.combining(letter))))


def _listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",")]


@cache
def _english() -> dict[str, str]:
    """All names, compared as ``plain``, with the English ones."""
    names_of_times = {plain(name): english for english, names in _NAMES.items() for name in _listed(names)}
    days = [(name, english) for english, names in _NAMES.items() if english.endswith("day") for name in _listed(names)]
    for name, english in days:
        if english in ("today", "yesterday"):
            continue
        names_of_times |= {plain(f"{last} {name}"): f"last {english}" for last in _listed(_LAST_BEFORE)}
        for last in _listed(_LAST_BEHIND):
            names_of_times |= {
                plain(f"{name} {last}"): f"last {english}",
                plain(f"el {name} {last}"): f"last {english}",
            }
    return names_of_times


@cache
def _units() -> dict[str, str]:
    return {plain(name): english for english, names in _UNITS.items() for name in _listed(names)}


@cache
def _first_words() -> frozenset[str]:
    """What names of several words begin with, apart from numbers. The names of past days begin with these, too."""
    names = [name for names in (*_NAMES.values(), _LAST_BEFORE) for name in _listed(names)]
    return frozenset(plain(name).split(" ")[0] for name in (*names, "el", *_BEFORE_NUMBERS))


def may_begin(word: str) -> bool:
    """Whether a name of a day in another language may begin with a word; of most words it is known at once.

    >>> may_begin("letzte"), may_begin("il"), may_begin("3"), may_begin("keys")
    (True, True, True, False)
    """
    is_simple = word.isascii() and word.isalnum()
    first = word.lower() if is_simple else plain(word).split(" ")[0]
    return first in _first_words() or first[:1].isdecimal()


_ALSO_OTHER_WORDS = ("hier", "morgen")
"""In German the first is "here"; the second is "morning" there and a name in English."""


@cache
def names_alone() -> frozenset[str]:
    """The single words of other languages that name a day near today wherever they stand."""
    near = ("today", "yesterday", "2 days ago", "tomorrow")
    names = (plain(name) for english in near for name in _listed(_NAMES[english]))
    return frozenset(name for name in names if len(name) > 3 and " " not in name and name not in _ALSO_OTHER_WORDS)


def joined(words: str) -> str:
    """Words of which the first name a day in another language, with these joined to one word; the others as they are.

    >>> joined("la semana pasada en casa"), joined("monday at home")
    ('la_semana_pasada en casa', 'monday at home')
    """
    apart = words.split(" ")
    for count in range(min(MOST_WORDS, len(apart)), 1, -1):
        name = " ".join(apart[:count])
        if in_english(name) != name:
            return " ".join(("_".join(apart[:count]), *apart[count:]))
    return words


def in_english(text: str) -> str:
    """What a day that is named in another language is in English; other text as it is.

    >>> in_english("Letzte Woche"), in_english("il y a 3 jours"), in_english("上周"), in_english("3日前")
    ('last week', '3 days ago', 'last week', '3 days ago')
    """
    name = plain(text)
    if name in _english():
        return _english()[name]
    ago = _AGO_IN_OTHERS.fullmatch(name)
    if ago is None:
        return text
    unit = _units().get((ago["unit_before"] or ago["unit_behind"]).strip())
    return text if unit is None else f"{ago['before'] or ago['behind']} {unit}s ago"


WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_AGO = late(r"(\d{1,5}) ?(d|day|days|w|week|weeks|h|hour|hours|m|month|months|y|year|years)(?: ago)?")
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
_NUMBERS = (
    "a",
    "an",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
_COUNTS = {**{word: max(1, at - 1) for at, word in enumerate(_NUMBERS)}, "few": 5}
_NUMBER = late(rf"((?:last|past) )?\b({'|'.join(_NUMBERS)}|(?<=t )few) ((?:hour|day|week|month|year)s?(?: ago)?)")
_SOME = late(r"(?:a )?(couple|few)(?: of)? (day|week|month|year)s? ago")
_SOME_ARE = {"couple": (3, 1), "few": (5, 2)}
"""How many units ago "a couple of days ago" begins and ends."""
_PAST = late(r"(?:last|past) (?:(\d{1,5}) )?(day|week|month|year)s?")
SPOKEN = (
    rf"(?:last|this)[ _-](?:week(?:end)?|month|year|{'|'.join(WEEKDAYS)})|\d{{1,5}}[ ](?:day|week|month|year)s?[ ]ago"
)
"""The ones that are written with spaces, as a regular expression."""
_UNIT = "(?:day|week|month|year)s?"
LOOSE = (
    rf"(?:(?:a[ ])?(?:couple|few)(?:[ ]of)?|{'|'.join(_NUMBERS)})[ ]{_UNIT}[ ]ago"
    rf"|(?:last|past)[ ](?:\d{{1,5}}|few|{'|'.join(_NUMBERS)})[ ]{_UNIT}|past[ ]{_UNIT}"
)
"""The ones whose number is a word, and "the last three days", which end today."""

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MONTHS_OF_OTHERS = {
    "january": "januar, janvier, enero, gennaio, janeiro, januari, stycznia, январь, января, ocak",
    "february": "februar, février, fevrier, febrero, febbraio, fevereiro, februari, lutego, февраль, февраля, şubat",
    "march": "märz, mars, marzo, março, maart, marca, март, марта, mart",
    "april": "april, avril, abril, aprile, kwietnia, апрель, апреля, nisan",
    "may": "mai, mayo, maggio, maio, mei, maja, май, мая, mayıs",
    "june": "juni, juin, junio, giugno, junho, czerwca, июнь, июня, haziran",
    "july": "juli, juillet, julio, luglio, julho, lipca, июль, июля, temmuz",
    "august": "august, août, aout, agosto, augustus, sierpnia, август, августа, ağustos",
    "september": "september, septembre, septiembre, settembre, setembro, września, сентябрь, сентября, eylül",
    "october": "oktober, octobre, octubre, ottobre, outubro, października, октябрь, октября, ekim",
    "november": "november, novembre, noviembre, novembro, listopada, ноябрь, ноября, kasım",
    "december": "dezember, décembre, diciembre, dicembre, dezembro, grudnia, декабрь, декабря, aralık",
}
_ASIAN_DATE = late(r"(?:(\d{4})[年년]\s?)?(\d{1,2})[月월](?:\s?(\d{1,2})[日일])?")
_ASIAN_AGO = late(
    r"(\d{1,3}|[一二两兩三四五六七八九十])\s?(天|日|周|週間|个星期|个月|か月|ヶ月|年|일|주|개월|년)\s?(?:之?前|전)"
)
_ASIAN_NUMBERS = {digit: at for at, digit in enumerate("一二三四五六七八九十", start=1)} | {"两": 2, "兩": 2}
_ASIAN = late(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_WIDE_DIGITS = str.maketrans("０１２３４５６７８９", "0123456789")
YEAR = r"(?:19|20)\d\d"
_MONTH = rf"(?:{'|'.join(MONTHS)}|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
_NTH = r"[0-3]?\d(?:st|nd|rd|th|\.)?"
WRITTEN = (
    rf"{YEAR}[-/]\d\d?[-/]\d\d?|\d\d?[./]\d\d?[./]{YEAR}"
    rf"|{_NTH}\s+(?:(?:of|de)\s+)?{_MONTH}(?:(?:,|\s+del?)?\s+{YEAR})?"
    rf"|{_MONTH}\s+(?:the\s+)?{_NTH}(?!\d)(?:,?\s+{YEAR})?|{_MONTH}(?:,|\s+del?)?\s+{YEAR}"
)
"""Days and months of the calendar as people write them, as a regular expression: 13 July 2026, March 3rd, july 2025."""
_WRITTEN = late(rf"{WRITTEN}|{'|'.join(MONTHS)}|{YEAR}", re.IGNORECASE)
_PART = late(r"\d+|[a-z]{3,}", re.IGNORECASE)


@cache
def _months_of_others() -> dict[str, str]:
    return {name: month for month, names in _MONTHS_OF_OTHERS.items() for name in _listed(names)}


@cache
def _month_beside_a_number() -> re.Pattern[str]:
    """Months of other languages, where a number says that they are none of the other words that they may be."""
    beside = r"(?<=\d\s)|(?<=\d\.\s)|(?<=\sde\s)|\b(?=\w+\s(?:del?\s)?\d{4})"
    return re.compile(rf"(?:{beside})({'|'.join(_months_of_others())})\b", re.IGNORECASE)


@cache
def _asian_days() -> dict[str, str]:
    """Names in writing without spaces, the longest first. A name of one letter is a part of too many words."""
    found = {
        name: f" on {english} " if english in WEEKDAYS else f" {english} "
        for english, names in _NAMES.items()
        for name in _listed(names)
        if len(name) > 1 and _ASIAN.match(name)
    }
    return dict(sorted(found.items(), key=lambda pair: -len(pair[0])))


def with_english_dates(text: str) -> str:
    """A question with dates in English that are written in another language, and days where no spaces divide words.

    >>> with_english_dates("la reunión del 7 de marzo de 2025"), with_english_dates("昨天做了什么").split()[0]
    ('la reunión del 7 de march de 2025', 'yesterday')
    """
    months = _months_of_others()
    if any(map(text.lower().__contains__, months)):
        text = _month_beside_a_number().sub(lambda match: months[match[1].lower()], text)
    if _ASIAN.search(text) is None:
        return text
    text = _ASIAN_DATE.sub(_in_english_order, text.translate(_WIDE_DIGITS))
    text = _ASIAN_AGO.sub(
        lambda ago: f" {_ASIAN_NUMBERS.get(ago[1], ago[1])} {_units().get(plain(ago[2]), ago[2])}s ago ", text
    )
    name = next((name for name in _asian_days() if name in text), None)
    return text if name is None else text.replace(name, _asian_days()[name], 1)


def _in_english_order(date_of: re.Match[str]) -> str:
    year, month, day = date_of.groups()
    if not 1 <= int(month) <= 12:
        return date_of[0]
    return " ".join(("", day or ("" if year else "in"), MONTHS[int(month) - 1], year or "", ""))


def written_days(text: str, now: datetime) -> tuple[datetime, datetime] | None:
    """The beginning and the end of a day, month or year that is written as in a calendar; None for other text.

    Without a year it is the latest one that has begun. ``03/04/2026`` is none, because it means two days in two
    countries.

    >>> [one.isoformat() for one in written_days("March 3rd", datetime(2026, 2, 18, 9))]
    ['2025-03-03T00:00:00', '2025-03-04T00:00:00']
    """
    text = text.strip()
    if _WRITTEN.fullmatch(text) is None:
        return None
    parts = [part.lower() for part in _PART.findall(text)]
    names = [at for at, month in enumerate(MONTHS, start=1) for part in parts if month.startswith(part[:3])]
    numbers = [int(part) for part in parts if part.isdigit()]
    year = next((number for number in numbers if number > 31), None)
    others = [number for number in numbers if number <= 31]
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    month, day = 1, None
    if names:
        month, day = names[0], others[0] if others else None
    elif others:
        month, day = others if text[:4].isdigit() or (others[0] <= 12 and "." not in text) else reversed(others)
        if "/" in text and max(month, day) <= 12 and month != day and not text[:4].isdigit():
            return None
    try:
        start = midnight.replace(year=year or now.year, month=month, day=day or 1)
        if year is None and start > now:
            start = start.replace(year=now.year - 1)
    except ValueError:  # 31 February, and 29 February of most years
        return None
    if day is not None:
        return start, start + timedelta(days=1)
    if names:
        return start, (start + timedelta(days=31)).replace(day=1)
    return start, start.replace(year=start.year + 1)


def spoken_day(text: str, now: datetime) -> datetime | None:
    """The beginning of a day that is named in words, in the time zone of ``now``; None for other text.

    A weekday is the latest one, today included. "last monday" is the latest one before today.

    >>> spoken_day("monday", datetime(2026, 11, 18, 9)).isoformat()
    '2026-11-16T00:00:00'
    """
    written = written_days(text, now)
    if written is not None:
        return written[0]
    words = _spoken(text)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    week = today - timedelta(days=today.weekday())
    month = today.replace(day=1)
    named = {
        "now": now,
        "today": today,
        "yesterday": today - timedelta(days=1),
        "tomorrow": today + timedelta(days=1),
        "this week": week,
        "last week": week - timedelta(days=7),
        "this weekend": week + timedelta(days=5),
        "last weekend": week - timedelta(days=2),
        "this month": month,
        "last month": (month - timedelta(days=1)).replace(day=1),
        "this year": month.replace(month=1),
        "last year": month.replace(month=1, year=max(1, month.year - 1)),
    }
    if words in named:
        return named[words]
    is_last = words.startswith("last ")
    name = words.removeprefix("last ").removeprefix("this ")
    if name in WEEKDAYS:
        days = (today.weekday() - WEEKDAYS.index(name)) % 7
        return today - timedelta(days=days or (7 if is_last else 0))
    if (past := _PAST.fullmatch(words)) is not None:
        return today - timedelta(days=int(past[1] or 1) * _DAYS[past[2][0]])
    some = _SOME.fullmatch(words)
    if some is not None:
        return today - timedelta(days=_SOME_ARE[some[1]][0] * _DAYS[some[2][0]])
    ago = _AGO.fullmatch(words)
    if ago is None:
        return None
    count, unit = int(ago[1]), ago[2][0]
    return now - timedelta(hours=count) if unit == "h" else today - timedelta(days=count * _DAYS[unit])


def _spoken(text: str) -> str:
    """The words of a spoken day in English, with its number as one."""
    words = " ".join(re.split(r"[\s_-]+", in_english(text).strip().lower()))
    return _NUMBER.sub(lambda one: f"{one[1] or ''}{_COUNTS[one[2]]} {one[3]}", words)


def spoken_days(text: str, now: datetime) -> tuple[datetime, datetime] | None:
    """The beginning and the end of a day, week, month or year that is named in words; None for other text.

    >>> [one.isoformat() for one in spoken_days("last week", datetime(2026, 11, 18, 9))]
    ['2026-11-09T00:00:00', '2026-11-16T00:00:00']
    """
    start = spoken_day(text, now)
    if start is None:
        return None
    if (written := written_days(text, now)) is not None:
        return written
    words = _spoken(text)
    if (some := _SOME.fullmatch(words)) is not None:
        most, least = _SOME_ARE[some[1]]
        return start, start + timedelta(days=(most - least) * _DAYS[some[2][0]] + 1)
    if words not in _english().values() and _PAST.fullmatch(words):
        return start, now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    if words.endswith("weekend"):
        return start, start + timedelta(days=2)
    if "month" in words or "year" in words:
        days = 366 if "year" in words else 31
        following = (start + timedelta(days=days)).replace(day=1)  # a year later is still January
        return start, following if start.day == 1 else start + timedelta(days=days)
    return start, start + timedelta(days=7 if "week" in words else 1)


def moment_of(when: str | date) -> datetime:
    """The moment that a text, a day or a time names; a day begins at midnight, and is local as all times without a
    zone.
    """
    if isinstance(when, str):
        return parse_time(when)
    if not isinstance(when, date):
        raise UsageError(f"{when!r} is not a date", hint="Give a datetime, a date, or a text such as 2026-11-15.")
    return parse_time(when.isoformat())


def parse_time(text: str) -> datetime:
    """A date or time as people write it (``2026-11-15``, ``2026-11-15T10:00``, ``...Z``); local unless marked.

    Days may be named in words, too: yesterday, last week, monday, 3 days ago.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        try:
            spoken = spoken_day(text, datetime.now())  # local time, as for all times without a time zone
        except OverflowError:
            spoken = None
        if spoken is None:
            raise UsageError(
                f"'{text}' is not a date",
                hint="Write 2026-11-15 or 2026-11-15T10:30 (with Z or +02:00 for a time zone), yesterday or last week.",
            ) from None
        moment = spoken
    try:
        return moment.astimezone(UTC)
    except (OverflowError, OSError, ValueError):
        raise UsageError(f"'{text}' is out of range", hint="Use a date between the years 1970 and 9998.") from None


UNIT_DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0, "m": 30.0, "y": 365.0}
"""A month counts 30 days and a year 365: these are ages, not dates in a calendar."""

LONGEST_DAYS = 36_500
_DURATION = late(r"\s*(\d{1,6}(?:\.\d{1,6})?)\s*([hdwmy])[a-z]*\s*", re.IGNORECASE)
_SPAN = late(r"\s*[\d.]+\s*[a-zA-Z]+\s*")


def parse_duration(text: str) -> timedelta:
    """The span that a text names; hours, days, weeks, months or years, by their first letter.

    >>> parse_duration("12w").days, parse_duration("6m").days, parse_duration("36h").total_seconds()
    (84, 180, 129600.0)
    """
    match = _DURATION.fullmatch(text)
    days = float(match[1]) * UNIT_DAYS[match[2].lower()] if match else -1.0
    if not 0 <= days <= LONGEST_DAYS:
        raise UsageError(f"'{text}' is not a span of time", hint="Write 36h, 90d, 12w, 6m or 1y; at most 100 years.")
    return timedelta(days=days)


def parse_retry_after(text: str) -> float | None:
    """How many seconds a server asks to wait in its header ``Retry-After``: a number or a date; None for other text.

    >>> parse_retry_after("120"), parse_retry_after("soon")
    (120.0, None)
    """
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text)
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def moment_since(text: str | date | timedelta | None) -> datetime | None:
    """The moment that ``7d``, ``36h``, a span or a date names."""
    if text is None:
        return None
    if isinstance(text, timedelta):
        return datetime.now(UTC) - text
    if not isinstance(text, str):
        return moment_of(text)
    if _SPAN.fullmatch(text):
        return datetime.now(UTC) - parse_duration(text)
    try:
        return parse_time(text)
    except UsageError as error:
        raise UsageError(error.message, hint="Write a span such as 36h, 7d or 2w, or a date: 2026-11-15.") from None
