// Has a passkey sign the platform's challenge, and sends its answer with the form.
const form = document.getElementById("passkey");
const wrong = form.querySelector("[role=alert]");
const { answer, csrfmiddlewaretoken } = form.elements;

async function sign() {
  const asked = await fetch(form.dataset.ask, {
    method: "POST",
    headers: { "X-CSRFToken": csrfmiddlewaretoken.value },
  });
  const given = await asked.json();
  if (!asked.ok) throw new Error(given.detail);
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(given);
  const credential = await navigator.credentials.get({ publicKey });
  answer.value = JSON.stringify(credential.toJSON());
  form.submit();
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  wrong.hidden = true;
  try {
    await sign();
  } catch (error) {
    const isLeft = error instanceof DOMException && ["NotAllowedError", "AbortError"].includes(error.name);
    wrong.textContent = isLeft ? form.dataset.unused : error.message;
    wrong.hidden = false;
  }
});

form.hidden = window.PublicKeyCredential?.parseRequestOptionsFromJSON === undefined;
