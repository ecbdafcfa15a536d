// What makes the pages livelier; everything works without it, and with the keyboard alone.
"use strict";

// A file that is dropped, or chosen, is sent.
for (const form of document.querySelectorAll("form[data-drop]")) {
  const input = form.querySelector("input[type=file]");
  const over = (event, is) => { event.preventDefault(); form.classList.toggle("over", is); };
  form.addEventListener("dragover", (event) => over(event, true));
  form.addEventListener("dragleave", (event) => over(event, false));
  form.addEventListener("drop", (event) => {
    over(event, false);
    if (event.dataTransfer.files.length) {
      input.files = event.dataTransfer.files;
      form.requestSubmit();
    }
  });
}
for (const input of document.querySelectorAll("input[data-autosubmit]")) {
  input.addEventListener("change", () => { if (input.files.length) input.form.requestSubmit(); });
}

// A form is sent once.
for (const form of document.querySelectorAll("form")) {
  form.addEventListener("submit", () => setTimeout(() => {
    for (const button of form.querySelectorAll("button")) button.disabled = true;
  }, 0));
}
addEventListener("pageshow", () => {
  for (const button of document.querySelectorAll("button[disabled]")) button.disabled = false;
});

// How far a job is.
const progress = document.querySelector("[data-events]");
if (progress) {
  const part = (name) => progress.querySelector("[data-" + name + "]");
  const source = new EventSource(progress.dataset.events);
  const lost = document.querySelector("[data-lost]");
  source.addEventListener("error", () => { lost.hidden = false; });
  source.addEventListener("message", (event) => {
    const now = JSON.parse(event.data);
    lost.hidden = true;
    if (now.over) {
      source.close();
      location.reload();
      return;
    }
    const stage = now.state === "waiting" ? "waiting for its turn" : now.stages.at(-1) || "starting";
    if (part("stage").textContent !== stage) part("stage").textContent = stage;
    part("seconds").textContent = now.seconds;
    part("left").textContent = now.left === null ? "" : `, about ${now.left} s left`;
    part("stages").replaceChildren(...now.stages.map((name) => {
      const item = document.createElement("li");
      item.textContent = name;
      return item;
    }));
  });
}

// A value that is dragged onto a label moves there, by the same form as without a mouse.
const tree = document.querySelector("[data-move]");
if (tree) {
  const form = document.getElementById("move");
  for (const value of tree.querySelectorAll("[data-value]")) {
    value.draggable = true;
    value.addEventListener("dragstart", (event) => event.dataTransfer.setData("text/plain", value.dataset.value));
  }
  for (const label of tree.querySelectorAll("[data-parent]")) {
    label.addEventListener("dragover", (event) => { event.preventDefault(); label.classList.add("over"); });
    label.addEventListener("dragleave", () => label.classList.remove("over"));
    label.addEventListener("drop", (event) => {
      event.preventDefault();
      form.elements.value.value = event.dataTransfer.getData("text/plain");
      form.elements.parent.value = label.dataset.parent;
      form.requestSubmit();
    });
  }
}
