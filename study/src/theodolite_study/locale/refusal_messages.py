"""Map each refusal code of the database to the message that participants read."""

from theodolite_study.locale.messages import N_

REFUSALS: dict[str, str] = {
    "nobody": N_("We do not know who you are: please begin again from the first page."),
    "not here": N_("There is no such page."),
    "stage": N_("This step is not the one where you are."),
    "conflict": N_("Your answers are stored already and stay as they were."),
    "not open": N_("This study takes no answers now. Your answers so far are kept."),
    "full": N_("All places of this study are taken. Thank you for your interest."),
    "old form": N_("The text was changed since you opened this page. Please read it again."),
    "ticks": N_("Please tick every box, or do not agree."),
    "no consent": N_("This version has no consent yet."),
    "barred": N_("You have left this study, and cannot take part in it again."),
    "ran out": N_("There is no image left for you. Thank you."),
    "wait": N_(
        "Other people are looking at the last images. One may come back to you: please wait "
        "a little."
    ),
    "no image": N_("This image is no longer waiting for you."),
    "own first": N_("First say what you see yourself."),
    "look first": N_("First look at the explanation."),
    "code": N_("There is no such code. Please check each letter."),
    "code needed": N_("Please give your withdrawal code."),
    "used link": N_("This link was used before. Open the study again from the platform’s page."),
    "form": N_("This form has a part that does not fit."),
    "foreign": N_(
        "This form did not come from a page of this study. Please go back and try again."
    ),
    "too long": N_("This is too much to be taken."),
    "too slow": N_("This took too long to arrive. Please try again."),
    "quick": N_("This was quick. Please try again in a moment."),
    "busy": N_("Many people are here just now. Please try again in a moment."),
    "away": N_("The study is out of reach for a moment. Nothing is lost: please try again."),
    "fault": N_("Something went wrong on our side (number {number}). Please try again."),
    "not done here": N_("This cannot be done here."),
    "not understood": N_("This could not be understood."),
    "no key": N_("This form has no key. Please load the page again."),
    "beyond": N_("A frame reaches beyond the image. Please move it."),
    "old page": N_("This page is too old. Please load it again."),
    "old fields": N_("This form is too old. Please load the page again."),
    "too much": N_("This is too much to be kept."),
    "no JSON": N_("This is no JSON."),
    "JSON needed": N_("JSON was needed."),
    "parts": N_("This has too many parts."),
    "part": N_("This has a part that does not fit."),
    "not begun": N_("You have not begun yet."),
    "no form": N_("A form was needed."),
    "unreachable": N_("The study cannot be reached just now. Please try again in a moment."),
    "other name": N_("This server has another name."),
}
