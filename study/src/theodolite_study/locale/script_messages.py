"""List the texts of the browser scripts, which pages hand over as JSON."""

from theodolite_study.locale.messages import N_, NN_, Message

SCRIPTS: dict[str, Message] = {
    "saved": N_("Saved"),
    "not_saved": N_("Not saved. Your answers stay on this page until you send them."),
    "saving_again": N_("Not saved yet. Trying again …"),
    "sending": N_("Sending …"),
    "no_answer": N_("The server does not answer. Trying again …"),
    "not_sent": N_(
        "This could not be sent. Your answers are still here: please try again in a moment."
    ),
    "kept_for": NN_(
        "This image is kept for you for {minutes} more minute.",
        "This image is kept for you for {minutes} more minutes.",
    ),
    "took_long": N_(
        "This took long. You can still answer; perhaps somebody else got this image meanwhile."
    ),
    "went_away": N_(
        "This image went to somebody else; your answers are still stored, but will not count."
    ),
    "copied": N_("Copied"),
    "code_copied": N_("The code was copied."),
    "selected": N_("Selected: press Ctrl+C"),
    "looks_again": NN_(
        "This page looks by itself in {seconds} second.",
        "This page looks by itself in {seconds} seconds.",
    ),
    "looking": N_("Looking again …"),
    "first_place": N_("This is the first place."),
    "last_place": N_("This is the last place."),
    "line_up": N_("Up: {item}"),
    "line_down": N_("Down: {item}"),
    "line_out": N_("Take out: {item}"),
    "line_taken_out": N_("{item} has no place now."),
    "no_answer_yet": N_("no answer yet"),
    "place_of": N_("{item}: place {place} of {places}."),
    "frame_where": N_(
        "Frame {number}: {left} from the left, {top} from the top, {width} wide, {height} high"
    ),
    "point_where": N_("Point {number}: {left} from the left, {top} from the top"),
    "frame_added": N_("Frame {number} was added. Arrow keys move it."),
    "frame_removed": N_("Frame {number} was removed. {left} left."),
    "most_frames": N_("At most {number} frames."),
    "remove": N_("Remove"),
    "remove_frame": N_("Remove frame {number}"),
    "left": N_("Left"),
    "top": N_("Top"),
    "width": N_("Width"),
    "height": N_("Height"),
    "no_frame": N_("No frame was drawn."),
    "first_corner": N_("First corner is set. Now the opposite corner. Escape leaves it."),
    "too_small": N_("That frame was too small."),
}
