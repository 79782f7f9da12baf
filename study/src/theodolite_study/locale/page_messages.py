"""List the texts of participants' pages, by page, for translators. Templates use the same words."""

from theodolite_study.locale.messages import N_, NN_, Message

PAGES: dict[str, tuple[Message, ...]] = {
    "everywhere": (
        N_("Go to the content"),
        N_("Questions? Write to {contact}"),
        N_("Withdraw from the study"),
        N_("Stop now"),
        N_("Language"),
        N_(
            "This study needs a window that is at least {width} pixels wide. Please make it "
            "wider, or come back on a larger screen."
        ),
        N_("Something is missing or does not fit"),
        N_("Copy"),
        N_("Go on"),
        N_("Send"),
        N_("I prefer not to say"),
        N_("optional"),
        N_("You can close this window."),
        N_("Go back to the platform"),
    ),
    "landing": (
        N_("You are taking part already"),
        N_(
            "This link is for another person than the one who takes part in this browser. "
            "Nothing was changed."
        ),
        N_(
            "Answers that were sent stay stored. Whoever took part here may need their code to "
            "go on."
        ),
        N_("I am somebody else: begin"),
        NN_("It takes about {minutes} minute.", "It takes about {minutes} minutes."),
        N_("You can stop at any time."),
        NN_("You rate up to {items} image.", "You rate up to {items} images."),
        N_("For the whole study you are paid {amount}."),
        N_(
            "This study takes no new people now: it has a break, or it is over. Thank you for "
            "your interest."
        ),
        N_("Your invitation code"),
        N_("Your withdrawal code"),
        N_(
            "You began on another device. Please give the code that you got there, so that "
            "nobody else goes on in your name."
        ),
        N_("Begin"),
        N_(
            "Please come from the page of the platform where you found this study: there you "
            "can begin."
        ),
        N_("This is a preview. Accept the task on Mechanical Turk to begin."),
    ),
    "consent": (
        N_("Do you agree?"),
        N_("Before you begin"),
        N_("I agree"),
        N_("I do not agree"),
        N_("The text was changed since you opened this page. Please read it again."),
    ),
    "code": (
        N_("Your code"),
        N_("Please keep this code"),
        N_(
            "With it you can withdraw later: all your answers are then deleted. It also lets "
            "you go on from another device. We cannot find it for you, because we do not know "
            "who you are."
        ),
        N_("I have kept it, go on"),
    ),
    "about": (
        N_("A little about you"),
        N_("All of this is optional. It shows whether explanations work for many kinds of people."),
    ),
    "practice": (
        N_("Practice"),
        N_("First some practice"),
        N_("Practice once more"),
        N_(
            "This is attempt {attempt} of {attempts}. Take your time, and do what each item "
            "asks for."
        ),
        NN_(
            "There is {number} practice item. After it you are told whether it was right, and why.",
            "There are {number} practice items. After each one you are told whether it was "
            "right, and why.",
        ),
        N_("You have done {number} of them."),
        N_("Begin the practice"),
        N_("Practice item {position} of {total}"),
        N_("That was right."),
        N_("That was not quite it."),
        N_("Please read what the item asks for, and do that. This is practice: nothing is lost."),
        N_("The item asked: {instruction}"),
        N_("Next practice item"),
    ),
    "item": (
        N_("Image {position} of {total}"),
        N_("Images done"),
        N_("I am still here"),
        N_("Skip this image"),
        N_("You will not see it again, and it does not count for you. Why do you skip it?"),
        N_("I cannot see the image"),
        N_("Something on the page is broken"),
        N_("I do not want to answer this one"),
        N_("Skip it"),
    ),
    "before": (
        N_("First: what do you see?"),
        N_("The image that is asked about: {label}"),
        N_("Draw"),
        N_("Move page"),
        N_("Drag over the image, or click two opposite corners of a part."),
        N_("Choose “Draw” and drag with one finger, or tap two opposite corners of a part."),
        N_("Add a frame"),
        N_("There is nothing to mark"),
        N_("With the keyboard"),
        N_(
            "“Add a frame” puts a frame on the image. Arrow keys move it by 1 pixel, with "
            "Shift by 10. Ctrl or Alt with arrow keys changes its size. Delete removes it. "
            "Escape leaves a frame half drawn. The number fields do the same."
        ),
        N_(
            "The image is {width} pixels wide and {height} high. Give for each frame its "
            "distance from the left and from the top, its width and its height. Leave empty "
            "what you do not need."
        ),
        N_("Done: show the explanation"),
        N_("Your answer stays as it is once you see the explanation."),
    ),
    "after": (
        N_("Now the explanation. The program said: “{label}”"),
        N_("The image: {label}"),
        N_("Colors over the image: which parts mattered"),
        N_("Your frames: {number}"),
        N_("Blue: against the answer. White: nothing. Red: for the answer."),
        N_("From dark, least, to light, most."),
        N_("against"),
        N_("nothing"),
        N_("for"),
        N_("least"),
        N_("most"),
        NN_(
            "Bars of {number} concept. The same numbers are in the table.",
            "Bars of {number} concepts. The same numbers are in the table.",
        ),
        N_("As a table"),
        N_("Concept"),
        N_("Weight"),
        N_("Red parts spoke for “{label}”, blue parts against it."),
        N_("The lighter a part, the more it mattered for “{label}”."),
        N_("Bars to the right spoke for “{label}”, bars to the left against it."),
        N_("The longer a bar, the more the concept mattered for “{label}”."),
        N_("Colors"),
        N_("Original only"),
        N_("My frames"),
        N_("Keys 1 to {points} answer the question you are in; Tab goes to the next."),
        N_("What you said before"),
        N_("Before: “{label}”"),
        N_("Changed: “{label}”"),
        N_("The image before the change: {label}"),
        N_("The changed image: {label}"),
        N_("Images only"),
        N_("Left explanation"),
        N_("Right explanation"),
        N_("Enlarge the image"),
        N_("Send and go on"),
    ),
    "next": (
        N_("Next image"),
        N_("Ready for the next image?"),
        N_(
            "Your answers are stored after each image. You can take a break now, or stop at "
            "any time."
        ),
        N_("How it works"),
        N_("Show the image"),
        N_("Please wait a moment"),
        N_(
            "Other people are looking at the last images. You can wait, or finish now; your "
            "answers count."
        ),
        N_("Look again now"),
        N_("Finish now"),
    ),
    "end": (
        N_("Last questions"),
        N_("Almost done: put these in order"),
        N_(
            "The list begins empty. Press a line to give it the next place; its arrow buttons "
            "move it. The first place is at the top."
        ),
        N_("Give each line its place: 1 is first. Each place once."),
        N_("Place of: {item}"),
        N_("no place yet"),
        N_("Up: {item}"),
        N_("Down: {item}"),
    ),
    "leaving": (
        N_("Do you want to stop now?"),
        NN_(
            "You have rated {number} image; this answer is kept.",
            "You have rated {number} images; these answers are kept.",
        ),
        N_("If you stop now you are paid {amount}."),
        N_("Yes, stop now"),
        N_("No, go back"),
        N_(
            "All your answers will be deleted, and everything that could point to you. You "
            "need not say why. This cannot be undone."
        ),
        N_("What was published before cannot be called back."),
        N_("You got it after you agreed to take part."),
        NN_(
            "Shall we pay you for the {number} image so far?",
            "Shall we pay you for the {number} images so far?",
        ),
        N_(
            "Yes. The platform’s number of your submission is then kept encrypted for at most "
            "30 days, without your answers."
        ),
        N_("No. Then nothing is kept."),
        N_("Delete my answers and withdraw"),
    ),
    "out": (
        N_("The end"),
        N_("Thank you"),
        N_("Your code for the end of the study:"),
        N_("There is no code, since no image was rated. If that is not right, write to {contact}."),
        N_("You are paid {amount}."),
        NN_(
            "The payment is made by the platform, usually within {days} day.",
            "The payment is made by the platform, usually within {days} days.",
        ),
        N_("Nothing is paid for this."),
        N_("The study is over"),
        N_("It takes no more answers. What you have sent is kept. Thank you."),
        N_("Please return the submission on the platform."),
    ),
    "message": (
        N_("This page is not here"),
        N_("Please try again in a moment"),
        N_("That does not work right now"),
        N_("Go on with the study"),
    ),
}
