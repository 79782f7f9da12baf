"""What a study says if its study.yaml says nothing else: paper 004's questions in our words."""

BEFORE_TEXT = "Which parts of this picture show you that it is “{label}”? Say it in your own words."
BEFORE_BOXES = "Frame the parts of the picture that show it."

QUESTIONS = {
    "q1": {
        "text": "This explanation is how I would explain the answer myself.",
        "low": "not at all",
        "high": "exactly",
    },
    "q2": {"text": "This explanation can be trusted.", "low": "not at all", "high": "fully"},
    "q3": {
        "text": "This explanation is easy to understand.",
        "low": "very hard",
        "high": "very easy",
    },
    "q4": {
        "text": "People of any age, gender, country and culture would understand this explanation.",
        "low": "hardly anybody",
        "high": "everybody",
    },
    "q5": {
        "text": "The picture was changed a little; the answer stayed the same. "
        "How much has the explanation changed?",
        "low": "not at all",
        "high": "completely",
    },
    "q6": {
        "text": "The picture was changed a lot; the answer is another one now. "
        "How much has the explanation changed?",
        "low": "not at all",
        "high": "completely",
    },
}

QUALITIES = [
    "It is what I expected",
    "It can be trusted",
    "It is easy to understand",
    "It stays when the picture changes a little",
    "Everybody would understand it",
]
ASKED = [f"Question {number}" for number in range(1, 7)]
RANKINGS = {
    "q7": {
        "text": "Which qualities of an explanation matter most? Put the most important first.",
        "items": QUALITIES,
    },
    "q8": {
        "text": "Which questions tell most about how good an explanation is? "
        "Put the least important first.",
        "items": ASKED,
    },
    "q9": {
        "text": "Which questions were hard to answer? Put the hardest first.",
        "items": ASKED,
    },
}

WELCOME = """\
A computer program looked at pictures and said what they show. Another program explains \
why it said so. We would like to know what you think of these explanations.

For each picture you first say what you see yourself. Then you see the explanation and \
rate it."""

CONSENT = """\
Taking part is voluntary. You can stop at any time, without giving a reason.

We store your answers, how long they took, the size of your window, and, if you give \
them, your age group, gender and country. We do not store your name or your internet \
address. If you come from a recruiting platform, its number for you is stored encrypted \
and deleted when the study closes.

The answers will be published without anything that names you. Please do not write names \
or other personal things into text fields.

You get a code with which you can withdraw later; all your answers are then deleted. \
If we had asked you to stop, or you came by an invitation, a mark that names nobody stays, \
so that nobody begins twice. What was published before cannot be called back."""

INSTRUCTIONS = """\
You will see one picture at a time. Say in your own words what in the picture shows the \
answer, and frame those parts. Only then the explanation appears.

There are no right or wrong opinions. Some items ask you for a certain answer, to see \
that the page works for you: then please give that one."""

THANKS = (
    "Thank you for taking part. Your answers help to build explanations that people can rely on."
)
