/* What a browser adds to the pages: a choice of light and dark, and keys. All of it is extra; every
 * page is complete without it. Loaded in the head, so that a chosen theme is there before the first
 * paint. */
"use strict";

(() => {
  /* Light and dark ---------------------------------------------------------------------------- */

  const root = document.documentElement;
  const themes = ["auto", "light", "dark"];

  const readTheme = () => {
    try {
      const kept = localStorage.getItem("theme");
      return themes.includes(kept) ? kept : "auto";
    } catch {
      return "auto"; /* storage may be forbidden */
    }
  };

  const useTheme = (theme) => {
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
    try {
      localStorage.setItem("theme", theme);
    } catch {
      /* it holds for this page then */
    }
  };

  const first = readTheme();
  if (first !== "auto") root.dataset.theme = first;

  const addThemeButton = () => {
    const bar = document.querySelector(".top .bar");
    if (!bar) return;
    const button = document.createElement("button");
    const signs = { auto: "\u25d0", light: "\u25cb", dark: "\u25cf" };
    const show = (theme) => {
      button.textContent = signs[theme];
      button.title = `Colours: ${theme}`;
      button.setAttribute("aria-label", `Colours: ${theme}. Change`);
    };
    button.type = "button";
    button.className = "theme";
    show(readTheme());
    button.addEventListener("click", () => {
      const current = root.dataset.theme || "auto";
      const next = themes[(themes.indexOf(current) + 1) % themes.length];
      useTheme(next);
      show(next);
    });
    bar.append(button);
  };

  /* Moving about ------------------------------------------------------------------------------ */

  const isShown = (comment) => !comment.parentElement.closest("details:not([open])");

  const stories = ".story, .work, .hit";

  /* What j and k step through: comments of a thread, else what a list or a search shows. */
  const stops = () => {
    const comments = [...document.querySelectorAll(".thread .c")].filter(isShown);
    if (comments.length) return comments;
    return [...document.querySelectorAll(stories)];
  };

  const handle = (stop) =>
    stop.matches(".c") ? stop.querySelector(":scope > details > summary") : stop.querySelector("a");

  const currentStop = () => {
    const focused = document.activeElement;
    return focused && focused !== document.body ? focused.closest(`.c, ${stories}`) : null;
  };

  const goTo = (stop) => {
    if (!stop) return;
    handle(stop).focus({ preventScroll: true });
    const box = stop.getBoundingClientRect();
    if (box.top < 0 || box.top > window.innerHeight * 0.6) stop.scrollIntoView({ block: "start" });
  };

  /* From where nothing has the focus yet, the first stop that is in view. */
  const step = (by, sameLevel) => {
    const all = stops();
    const here = currentStop();
    if (!here) {
      goTo(all.find((s) => s.getBoundingClientRect().top >= 0) || all[0]);
      return;
    }
    const level = (s) => (s.matches(".c") ? s.parentElement : null);
    let at = all.indexOf(here) + by;
    while (sameLevel && all[at] && level(all[at]) !== level(here)) at += by;
    goTo(all[at]);
  };

  const openOrClose = () => {
    const here = currentStop();
    if (!here) return;
    if (!here.matches(".c")) {
      handle(here).click();
      return;
    }
    const details = here.querySelector(":scope > details");
    details.open = !details.open;
    handle(here).focus({ preventScroll: true });
  };

  const toComments = () => {
    const here = currentStop();
    const link = here && here.querySelector(".replies, .when");
    if (link) link.click();
  };

  const toSearch = () => {
    const box = document.getElementById("q");
    if (!box) return;
    box.focus();
    box.select();
  };

  /* The list of keys -------------------------------------------------------------------------- */

  const keyList = [
    ["j", "next comment or story"],
    ["k", "the one before"],
    ["J", "next one on the same level"],
    ["K", "the one before on the same level"],
    ["o", "close or open a comment; open a story"],
    ["c", "to the comments of a story"],
    ["/", "search"],
    ["?", "this list"],
  ];

  const makeKeys = () => {
    const dialog = document.createElement("dialog");
    const heading = document.createElement("h2");
    const list = document.createElement("dl");
    const close = document.createElement("button");
    dialog.className = "keys";
    heading.textContent = "Keys";
    heading.id = "keys-heading";
    dialog.setAttribute("aria-labelledby", heading.id);
    for (const [key, what] of keyList) {
      const term = document.createElement("dt");
      const kbd = document.createElement("kbd");
      const words = document.createElement("dd");
      kbd.textContent = key;
      words.textContent = what;
      term.append(kbd);
      list.append(term, words);
    }
    close.type = "button";
    close.textContent = "Close";
    close.addEventListener("click", () => dialog.close());
    dialog.append(heading, list, close);
    document.body.append(dialog);
    return dialog;
  };

  const showKeys = () => {
    const dialog = document.querySelector("dialog.keys") || makeKeys();
    if (!dialog.open) dialog.showModal();
  };

  const actions = {
    j: () => step(1, false),
    k: () => step(-1, false),
    J: () => step(1, true),
    K: () => step(-1, true),
    o: openOrClose,
    c: toComments,
    "/": toSearch,
    "?": showKeys,
  };

  const isTyping = (target) =>
    target.closest("input, textarea, select, [contenteditable]") || document.querySelector("dialog[open]");

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
    if (event.key === "Escape" && event.target.matches("#q")) event.target.blur();
    if (isTyping(event.target) || !Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  });

  /* Figures that are asked for again. The server renders them; nothing is made up here. --------- */

  const liveEvery = 2000;

  const keepLive = () => {
    const figures = document.querySelector("[data-live]");
    if (!figures) return;
    const refresh = async () => {
      if (document.visibilityState === "visible") {
        try {
          const answer = await fetch(figures.dataset.live, { cache: "no-store" });
          if (answer.ok) figures.innerHTML = await answer.text();
          figures.classList.toggle("old", !answer.ok);
        } catch {
          figures.classList.add("old"); /* what is shown is no longer true */
        }
      }
      setTimeout(refresh, liveEvery);
    };
    setTimeout(refresh, liveEvery);
  };

  document.addEventListener("DOMContentLoaded", addThemeButton);
  document.addEventListener("DOMContentLoaded", keepLive);
})();
