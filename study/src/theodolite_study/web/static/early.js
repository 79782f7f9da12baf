// Before anything is drawn: scripts work here, so the page may show what needs them.
document.documentElement.classList.add("scripts");
