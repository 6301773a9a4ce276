"""Words that carry no topic, per Snowball language: indexed, but left out of queries that hold other words.

``has_content`` finds the texts that name nothing one could look for: "yes, go on", "thanks, that works".
"""

from __future__ import annotations

import re
from functools import cache

from ricordo.text.scripts import unspaced_runs

_LISTS = {
    "english": """a about above after again against all am an and any are as at be because been before being below
        between both but by can cannot could did do does doing don dont down during each few for from further had has
        have having he her here hers herself him himself his how i if in into is it its itself just me more most my
        myself no nor not now of off on once only or other our ours ourselves out over own same she should so some
        such than that the their theirs them themselves then there these they this those through to too under until
        up us very was we were what when where which while who whom why will with would you your yours yourself
        yourselves""",
    "german": """aber alle als also am an auch auf aus bei bin bis bist da damit dann das dass dem den der des die dies
        diese dieser dieses du durch ein eine einem einen einer eines er es für hat ich ihr ihre im in ist ja kann
        mit nach nicht noch nur ob oder ohne sein seine sich sie sind so über um und uns unter vom von vor war was
        wenn wer wie wir wird wo zu zum zur""",
    "french": """au aux avec ce ces cet cette dans de des du elle en est et eux il ils je la le les leur lui ma mais me
        mes moi mon ne nos notre nous on ou où par pas pour qu que qui sa se ses son sont sur ta te tes toi ton tu un
        une vos votre vous à été être d l""",
    "spanish": """a al como con de del donde el ella en entre era es esta este esto fue ha hay la las le les lo los más
        me mi muy no nos o para pero por porque que se si sin sobre son su sus también te tu un una uno y ya""",
    "italian": """a ai al alla alle anche che chi ci come con da dal dalla degli dei del della delle di e è gli ha i il
        in io la le lei lo loro lui ma mi ne nei nel nella noi non o per più quando quello questa questo se si sono
        su sul tra tu un una uno voi""",
    "portuguese": """a ao aos as com como da das de do dos e ela ele em entre era essa esse esta este foi há isso já
        lhe mais mas me mesmo muito na nas não no nos o os ou para pela pelo por qual quando que quem se sem ser seu
        sua são também te um uma você""",
    "dutch": """aan al als bij dat de der des deze die dit doch door dus een en er ge geen had heb hebben heeft het hij
        hoe hun ik in is je kan maar me met mij mijn naar niet nog nu of om omdat onder ons ook op over te tot u uit
        van veel voor want was wat we wel werd wie wij zal ze zich zij zijn zo""",
}
_ASKING = {
    "german": """welche welcher welches wann warum wieviel viele wurde wurden waren hatte haben worden werden woher
        wen wem machen mehr gibt mein meine unser unsere""",
    "french": """quel quelle quels quelles quand comment pourquoi combien quoi cela étaient était avait ont fait
        plus quelqu sous entre après depuis""",
    "spanish": """qué quién quiénes cuándo cuál cuáles cómo cuánto cuántos cuánta dónde había fueron han ser puede
        hasta desde cuando""",
    "italian": """quale quali quanto quanti perché dove cosa era erano fu essere stato stata dopo fra dell nell sull""",
    "portuguese": """quais onde quanto quantos foram como tinha eram pelos pelas até depois uns à às""",
    "dutch": """welke wanneer waarom hoeveel waar werden worden tussen na deed kunnen heeft geweest""",
}
"""More of them, mostly words that ask."""
_OTHERS = {
    "catalan": """amb als aquest aquesta com del dels el els en és són i la les més no per però què qui quan on una
        un va van seva seu també sense""",
    "czech": """a aby ale ani až byl byla bylo být co je jeho jak jako jsem jsou když která které který má na nebo
        od při se si tak také že v ve z ze kde kdo proč kolik""",
    "danish": """af at blev da de den der det du efter eller en er et for fra ham han har hun hvad hvem hvor hvordan
        ikke jeg kan med mellem men når og om på skal som til var vi ved""",
    "finnish": """ei että hän ja jos joka jota kun kuin mikä mitä milloin missä mukaan myös niin nämä on oli ovat se
        sekä tai tämä vai vain kuinka kuka ollut""",
    "hungarian": """a az egy és hogy is nem van volt ez azt meg de mint még csak már ki mi mikor hol hogyan milyen
        melyik volna között után ezt""",
    "indonesian": """ada adalah apa atau bagaimana berapa dalam dan dari dengan di ini itu juga kapan ke kepada mana
        oleh pada sebagai siapa tidak untuk yang telah akan""",
    "norwegian": """av at ble da de den der det du etter eller en er et for fra ham han har hun hva hvem hvor
        hvordan ikke jeg kan med mellom men når og om på skal som til var vi ved""",
    "polish": """aby ale był była było być co czy dla do gdy gdzie ich ile jak jako jakie jaki jest jego jej kiedy
        kto która które który lub ma na nie o od oraz pod przez przy się są tak za że został""",
    "romanian": """al ale ar au care ce cel cine când câte cu cum dar de din este fi fost în la lui mai nu o pe
        pentru prin sau se sunt și unde un""",
    "swedish": """att av blev de den det du efter eller en ett för från han har hon hur hos inte jag kan med mellan
        men när och om på ska som till under var vad vem vi vid är""",
    "turkish": """ama ancak bir bu çok da daha de değil diye en gibi göre hangi her için ile ise kadar kim ki mi mı
        mu mü nasıl ne neden nerede nedir olan olarak oldu olduğu onun o sonra şey tarafından ve veya ya zaman kaç""",
    "vietnamese": """các của cho có được gì hoặc khi không là làm một nào người những này ở ra sao theo thì trong
        tại từ và về vào với ai đã để đó""",
    "russian": """а без бы был была были было быть в вам вас вы где да для до его ее если есть еще же за и из или им
        их к как какая какие какой когда который которая которые кто куда ли мне мы на над не нет но о об он она они
        от откуда по под почему при про с сколько так такой там то тоже только ты у уже чего чем что чтобы эта эти
        это этот я""",
    "arabic": """في من إلى على عن مع هو هي هم هذا هذه ذلك التي الذي الذين كان كانت ما ماذا متى أين كيف كم لماذا هل
        أي أو أن إن لا لم لن قد كل بعد قبل بين حتى ثم و""",
    "hindi": """का के की को में से है हैं था थे थी और या पर ने यह वह इस उस ये वे क्या कब कहाँ कहां कैसे कौन क्यों
        कितना कितने कितनी किस किसने किसे जो भी तो ही लिए एक नहीं हो गया गई गए""",
    "greek": """ο η το οι τα του της των τον την και ή να με σε για από που πως πώς πότε πού ποιος ποια ποιο τι
        γιατί πόσο πόσα είναι ήταν δεν θα στο στη στην στον ένα μια ένας""",
}
"""Words of other languages that carry no topic, those that ask among them."""

STOP_WORDS: dict[str, frozenset[str]] = {}
for _language, _text in (*_LISTS.items(), *_OTHERS.items()):
    STOP_WORDS[_language] = frozenset((*_text.split(), *_ASKING.get(_language, "").split()))
STOP_WORDS["porter"] = STOP_WORDS["english"]


_CODES = {
    "catalan": "ca", "czech": "cs", "danish": "da", "dutch": "nl", "english": "en", "finnish": "fi", "french": "fr",
    "german": "de", "hungarian": "hu", "indonesian": "id", "italian": "it", "norwegian": "no", "polish": "pl",
    "portuguese": "pt", "romanian": "ro", "spanish": "es", "swedish": "sv", "turkish": "tr", "vietnamese": "vi",
}  # fmt: skip
_ENGLISH = """also one many much did may new use used using first see get make two like name whose"""
"""More that English is known by; questions look for them."""


def _by_word() -> dict[str, tuple[str, ...]]:
    lists = {_CODES[language]: set(words) for language, words in STOP_WORDS.items() if language in _CODES}
    lists["en"] |= set(_ENGLISH.split())
    by_word: dict[str, list[str]] = {}
    for code, words in lists.items():
        for word in words:
            by_word.setdefault(word, []).append(code)
    return {word: tuple(codes) for word, codes in by_word.items()}


SMALL_WORDS = {word: codes for word, codes in _by_word().items() if word not in ("ai", "era")}
"""Without two that English texts are full of for other reasons."""


_WORD = re.compile(r"\w+")
_UNSPACED_ENOUGH = 4
"""This many characters of a script without spaces are as good as a word."""
_CHATTER = """
    again ahead alright awesome bad better bit carry clear continue cool correct else even exactly explain
    fine go going good got great hello hey hi hmm hurry idea indeed know let lets lgtm like look looks lot
    maybe mean meant mind moment need never next nice nope ok okay perfect please proceed really right said
    say see show sorry sounds sure tell thank thanks thing things think thx try understand wait want way weird
    well works wrong yeah yep yes yet
"""


def has_content(text: str) -> bool:
    """Whether a text has a word with any content; what fits that word is for a search to find.

    >>> has_content("are we done?"), has_content("yes, go on please")
    (True, False)
    """
    unspaced = unspaced_runs()
    if sum(map(len, unspaced.findall(text))) >= _UNSPACED_ENOUGH:
        return True
    words = _WORD.findall(unspaced.sub(" ", text).lower())
    return any(len(word) > 1 and word not in _empty_words() for word in words)


@cache
def _empty_words() -> frozenset[str]:
    return STOP_WORDS["english"] | set(_CHATTER.split())
