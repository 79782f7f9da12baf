// Makes the pages pleasant. Each part looks for its own place on the page and does nothing without.

import { boxEditor } from "./boxes.js";
import { explanationControls, proportions } from "./explanation.js";
import { ratingKeys } from "./ratings.js";
import { rankingButtons } from "./rankings.js";
import { measured } from "./measures.js";
import { keepDraft } from "./draft.js";
import { keepLease } from "./lease.js";
import { sendSafely } from "./sending.js";
import { small } from "./small.js";

small();
proportions(document.querySelectorAll(".stage"));
const rankings = document.getElementById("rankings");
if (rankings !== null) {
  rankingButtons(rankings);
  sendSafely(rankings, { fill() {}, forget() {} });
}
explanationControls(document.querySelectorAll("[data-look]"), document.getElementById("strength"));

const form = document.getElementById("answer");
const stage = document.getElementById("stage");
if (stage !== null) boxEditor(stage, form);
if (form !== null) {
  ratingKeys(form);
  const measures = measured(form);
  if (!("practice" in form.dataset)) {
    const lease = keepLease(form);
    keepDraft(form, lease);
  }
  sendSafely(form, measures);
}
