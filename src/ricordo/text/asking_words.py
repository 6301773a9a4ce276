"""What asks in questions that are written without spaces, so that only what is asked for is looked up.

Such text is searched by pairs of characters. Of 怎么配置服务器 (how do I configure the server) the pairs of 怎么, and
the one across its end, say nothing about the server.
"""

from __future__ import annotations

import re
from functools import cache

from ricordo.text.scripts import has_unspaced

_CHINESE = """什么 甚么 什麼 甚麼 怎么 怎麼 怎样 怎樣 如何 为什么 為什麼 为何 為何 哪里 哪裡 哪儿 哪个 哪個 哪些 哪一
    哪 多少 几个 幾個 谁 誰 请问 請問 是否 有没有 有沒有 关于 關於 吗 嗎 呢"""
_JAPANESE = """について に関する に関して とは ですか ますか でしょうか ましたか ください 教えて どこ どれ どの
    どのように どうやって どうすれば どう だれ いつ なぜ どんな いくつ いくら 何"""
_KOREAN = "무엇 어디 언제 누구 어떻게 얼마나 무슨 어떤 입니까 습니까 인가요 있나요 나요"
_THAI = "อะไร ที่ไหน อย่างไร ยังไง เมื่อไหร่ เมื่อไร เมื่อใด ใคร ทำไม เท่าไหร่ เท่าไร กี่ ไหม หรือไม่"
_WRITTEN = "\u30a0-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff々"
"""Kanji and katakana; a single hiragana between two of them is a particle."""


@cache
def _asking() -> re.Pattern[str]:
    words = sorted({*_CHINESE.split(), *_JAPANESE.split(), *_KOREAN.split(), *_THAI.split()}, key=len, reverse=True)
    return re.compile(f"{'|'.join(words)}|(?<=[{_WRITTEN}])[のはがをにとでもへや](?=[{_WRITTEN}])")


def asked_for(word: str) -> list[str]:
    """The parts of a word of a question that are asked for: all of it in scripts with spaces, and if it only asks.

    >>> asked_for("怎么配置服务器"), asked_for("会議の議事録"), asked_for("什么"), asked_for("server")
    (['配置服务器'], ['会議', '議事録'], ['什么'], ['server'])
    """
    if not has_unspaced(word):
        return [word]
    return [part for part in _asking().split(word) if part] or [word]
