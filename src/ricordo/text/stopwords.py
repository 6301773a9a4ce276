"""Words that carry no topic, per Snowball language: indexed, but left out of queries that hold other words."""

from __future__ import annotations

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

STOP_WORDS: dict[str, frozenset[str]] = {}
for _language, _text in _LISTS.items():
    STOP_WORDS[_language] = frozenset(_text.split())
STOP_WORDS["porter"] = STOP_WORDS["english"]
