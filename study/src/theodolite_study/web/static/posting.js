// JSON to the server, with the word that proves that our own page sent it.

export async function post(form, part, content) {
  const response = await fetch(`${form.dataset.action}/${part}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRF": form.dataset.csrf },
    body: JSON.stringify(content),
    keepalive: true,
  });
  if (!response.ok) throw Object.assign(new Error(`answer ${response.status}`), { status: response.status });
  const type = response.headers.get("Content-Type") ?? "";
  return type.includes("json") ? response.json() : {};
}

export const pause = (seconds) => new Promise((go) => { setTimeout(go, seconds * 1000); });
