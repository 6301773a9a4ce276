"""Small words by which languages with Latin letters are told apart: each with the languages that have it."""

from __future__ import annotations

from ricordo.text.stopwords import STOP_WORDS

_MORE = {
    "ca": """amb als aquest aquesta com del dels el els en és són i la les més no per però què qui quan on una un va van
        seva seu també sense""",
    "cs": """a aby ale ani až byl byla bylo být co je jeho jak jako jsem jsou když která které který má na nebo od
        při se si tak také že v ve z ze kde kdo proč kolik""",
    "da": """af at blev da de den der det du efter eller en er et for fra ham han har hun hvad hvem hvor hvordan ikke
        jeg kan med mellem men når og om på skal som til var vi ved""",
    "fi": """ei että hän ja jos joka jota kun kuin mikä mitä milloin missä mukaan myös niin nämä on oli ovat se sekä
        tai tämä vai vain kuinka kuka ollut""",
    "hu": """a az egy és hogy is nem van volt ez azt meg de mint még csak már ki mi mikor hol hogyan milyen melyik
        volna között után ezt""",
    "id": """ada adalah apa atau bagaimana berapa dalam dan dari dengan di ini itu juga kapan ke kepada mana oleh pada
        sebagai siapa tidak untuk yang telah akan""",
    "no": """av at ble da de den der det du etter eller en er et for fra ham han har hun hva hvem hvor hvordan ikke jeg
        kan med mellom men når og om på skal som til var vi ved""",
    "pl": """aby ale był była było być co czy dla do gdy gdzie ich ile jak jako jakie jaki jest jego jej kiedy
        kto która które który lub ma na nie o od oraz pod przez przy się są tak za że został""",
    "ro": """al ale ar au care ce cel cine când câte cu cum dar de din este fi fost în la lui mai nu o pe pentru
        prin sau se sunt și unde un""",
    "sv": """att av blev de den det du efter eller en ett för från han har hon hur hos inte jag kan med mellan men när
        och om på ska som till under var vad vem vi vid är""",
    "tr": """ama ancak bir bu çok da daha de değil diye en gibi göre hangi her için ile ise kadar kim ki mi mı mu mü
        nasıl ne neden nerede nedir olan olarak oldu olduğu onun o sonra şey tarafından ve veya ya zaman kaç""",
    "vi": """các của cho có được gì hoặc khi không là làm một nào người những này ở ra sao theo thì trong tại từ và về
        vào với ai đã để đó""",
}
_CODES = {
    "english": "en", "german": "de", "french": "fr", "spanish": "es", "italian": "it", "portuguese": "pt",
    "dutch": "nl",
}  # fmt: skip
_QUESTIONS = {
    "de": """welche welcher welches wann warum wieviel viele wurde wurden waren hatte haben worden werden woher wen wem
        machen mehr gibt mein meine unser unsere""",
    "fr": """quel quelle quels quelles quand comment pourquoi combien quoi cela étaient était avait ont fait plus quelqu
        sous entre après depuis""",
    "es": """qué quién quiénes cuándo cuál cuáles cómo cuánto cuántos cuánta dónde había fueron han ser puede hasta
        desde cuando""",
    "it": """quale quali quanto quanti perché dove cosa era erano fu essere stato stata dopo fra dell nell sull""",
    "pt": """quais onde quanto quantos foram como tinha eram pelos pelas até depois uns à às""",
    "nl": """welke wanneer waarom hoeveel waar werden worden tussen na deed kunnen heeft geweest""",
    "en": """also one many much did may new use used using first see get make two like name whose""",
}


def _by_word() -> dict[str, tuple[str, ...]]:
    lists = {_CODES[language]: set(words) for language, words in STOP_WORDS.items() if language in _CODES}
    for table in (_MORE, _QUESTIONS):
        for code, text in table.items():
            lists[code] = lists.get(code, set()) | set(text.split())
    found: dict[str, list[str]] = {}
    for code, words in lists.items():
        for word in words:
            found.setdefault(word, []).append(code)
    return {word: tuple(codes) for word, codes in found.items()}


SMALL_WORDS = {word: codes for word, codes in _by_word().items() if word not in ("ai", "era")}
"""Without two that English texts are full of for other reasons."""
