"""List common passwords and keyboard walks that `passwords.check_passphrase` refuses."""

KEYBOARD_ROWS = (
    "abcdefghijklmnopqrstuvwxyz", "qwertyuiopasdfghjklzxcvbnm", "qwertzuiopasdfghjklyxcvbnm",
    "azertyuiopqsdfghjklmwxcvbn", "1234567890", "0987654321", "1q2w3e4r5t6y7u8i9o0p",
    "qazwsxedcrfvtgbyhnujmikolp", "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p", "147258369", "789456123",
)  # fmt: skip
"""Rows of keyboards and the alphabet, whose walks are refused."""

COMMON_WORDS = frozenset(
    """
    access account admin administrator amanda america andrea andrew angel anthony arsenal ashley
    asshole august austin autumn baby babygirl babyboy banana barcelona baseball basketball batman
    beautiful bitch blessed blink butterfly carlos carolina change changeme changeit charlie cheese
    chelsea chicken chocolate christian christmas computer contact cookie correcthorsebatterystaple
    cowboys daniel database december default demo diamond dolphin dragon elizabeth england
    everything facebook family february flower football forever freedom friday friend friends fuck
    fuckyou gateway george ginger girls google guest hallo hannah happy heaven hello helloworld
    hockey hottie hunter iceman iloveyou iloveyouforever internet january jasmine jennifer jessica
    jesus jesuschrist jordan joshua july june justin killer lakers letmein letmeinnow letmeinplease
    linkedin liverpool login london love lovely loveme loveyou madison manager march master matrix
    matthew melissa michael michelle mickey microsoft minecraft monday monkey mother mustang myspace
    newpassword newyork nicole ninja nothing november october oracle orange pass passcode passphrase
    passwort password passwords passwordpassword patrick pepper playboy please pokemon postgres
    prince princess purple pussy qwerty qwertyuiop qwertzuiop rachel rainbow robert root samantha
    samsung saturday secret secretpassword security september server service shadow silver snoopy
    soccer something spiderman spring starwars steelers summer sunday sunflower sunshine superman
    support sweet sweetheart sweetie system taylor teamo tempo temporary test tester testing
    testpassword thisismypassword thomas thursday tigger tinkerbell trustno trustnoone tuesday
    twilight unknown user username vanessa wednesday welcome welcomehome whatever william winner
    winter wordpass yankees yellow youandme
    """.split()  # noqa: SIM905
)
"""Common words and phrases, which are refused with digits and signs around them too."""

PROJECT_WORDS = frozenset(
    """
    theodolite study studies participant participants prolific mechanicalturk explanation
    explanations saliency annotation annotator researcher research university
    """.split()  # noqa: SIM905
)
"""Words of this project, which attackers would guess first here."""
