/* The pages of links. While tasks of a link are under way its page asks every two seconds how they
 * stand, and hears of it at once where the change feed runs; what is new is taken from the same page
 * as the server renders it. All of it is extra: without script the page comes again by itself. */
"use strict";

(() => {
  const POLL_EVERY = 2000;
  const PLACE_EVERY = 3; /* polls that say nothing new between two looks at the place in line */
  const WAIT_EVERY = 60000; /* whoever looks at the page is waiting, and says so */

  let article = null;
  let said = null;
  let tag = null; /* of the state that is shown */
  let polls = 0;
  let timer = 0;
  let events = null;
  let looking = false;
  let lookAgain = false;
  let waitedAt = 0;
  let leaving = false;

  const isPending = () => article.hasAttribute("data-pending");
  const isVisible = () => document.visibilityState === "visible";

  /* Making one tree like another: what is the same stays, so that nothing flickers, no spinner starts
   * anew and the focus stays where it is. --------------------------------------------------------- */

  const likenAttributes = (old, next) => {
    for (const { name } of [...old.attributes]) if (!next.hasAttribute(name)) old.removeAttribute(name);
    for (const { name, value } of next.attributes)
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  };

  const liken = (old, next) => {
    if (old.nodeName !== next.nodeName || old.className !== next.className) {
      old.replaceWith(next);
      return;
    }
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.data !== next.data) old.data = next.data;
      return;
    }
    likenAttributes(old, next);
    const [was, is] = [[...old.childNodes], [...next.childNodes]];
    is.forEach((node, i) => (i < was.length ? liken(was[i], node) : old.append(node)));
    was.slice(is.length).forEach((node) => node.remove());
  };

  /* Who had the focus on something that is gone is left at the part that it belonged to. */
  const keepFocus = (change) => {
    const focused = document.activeElement;
    const part = focused && focused.closest("#link section");
    change();
    if (!part || focused.isConnected) return;
    const here = document.getElementById(part.id);
    if (here) here.focus({ preventScroll: true });
  };

  const states = () =>
    new Map([...article.querySelectorAll("section[data-state]")].map((s) => [s.id, s.dataset.state]));

  const announce = (before) => {
    const news = [...article.querySelectorAll("section[data-state]")]
      .filter((s) => before.get(s.id) !== s.dataset.state)
      .map((s) => s.dataset.say);
    if (news.length) said.textContent = `${news.join(". ")}.`;
  };

  /* Asking ---------------------------------------------------------------------------------------- */

  /* The article was found: to its page, once. To ask for it again would break off what is on its way. */
  const leave = (url) => {
    if (leaving) return;
    leaving = true;
    location.replace(url);
  };

  const takePage = async () => {
    const answer = await fetch(`/link/${article.dataset.link}`, { cache: "no-cache" });
    if (answer.redirected) {
      leave(answer.url);
      return;
    }
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const next = page.getElementById("link");
    if (!next) return;
    const before = states();
    keepFocus(() => liken(article, next));
    if (document.title !== page.title) document.title = page.title;
    announce(before);
  };

  const askState = async () => {
    const answer = await fetch(`/api/link/${article.dataset.link}/processing`, {
      cache: "no-store",
      headers: tag ? { "If-None-Match": tag } : {},
    });
    polls += 1;
    if (answer.status === 304) {
      if (polls % PLACE_EVERY === 0) await takePage();
      return;
    }
    if (!answer.ok) return;
    const state = await answer.json();
    const target = state.reverse_lookup && state.reverse_lookup.target_id;
    if (target) {
      leave(`/link/${target}`);
      return;
    }
    await takePage();
    tag = answer.headers.get("ETag"); /* only now: what failed above is asked for again */
  };

  const look = async () => {
    lookAgain = true;
    if (looking) return;
    looking = true;
    while (lookAgain && !leaving) {
      lookAgain = false;
      try {
        await askState();
      } catch {
        /* the server is away; the next look tells */
      }
    }
    looking = false;
    follow();
  };

  const sayWaiting = () => {
    if (!article.hasAttribute("data-wait") || !isVisible()) return;
    if (waitedAt && Date.now() - waitedAt < WAIT_EVERY) return;
    waitedAt = Date.now();
    fetch(`/link/${article.dataset.link}/wait`, { method: "POST" }).catch(() => {});
  };

  /* A browser keeps few connections to one server: only a page that is looked at has a stream. */
  const hear = () => {
    const wanted = isPending() && isVisible() && !leaving;
    if (!wanted && events) {
      events.close();
      events = null;
    } else if (wanted && !events) {
      events = new EventSource("/events?topics=link_processing");
      events.addEventListener("link_processing", (event) => {
        const { key } = JSON.parse(event.data);
        if (key && String(key.link_id) === article.dataset.link) look();
      });
    }
  };

  /* Goes on for as long as something is pending. */
  const follow = () => {
    clearTimeout(timer);
    hear();
    if (!isPending() || leaving) return;
    sayWaiting();
    timer = setTimeout(look, POLL_EVERY);
  };

  const retry = async (event) => {
    const form = event.target.closest("form.retry");
    if (!form) return;
    event.preventDefault();
    const button = form.querySelector("button");
    button.setAttribute("aria-disabled", "true");
    try {
      const answer = await fetch(form.action, { method: "POST", headers: { Accept: "application/json" } });
      if (!answer.ok) throw new Error(answer.status);
      tag = null;
      await look();
    } catch {
      form.submit(); /* the server says what is wrong */
    }
  };

  const followLink = () => {
    article = document.getElementById("link");
    if (!article) return;
    said = document.createElement("p");
    said.className = "unseen";
    said.setAttribute("role", "status");
    article.after(said);
    document.addEventListener("submit", retry);
    document.addEventListener("visibilitychange", () => {
      if (isPending() && isVisible()) look();
      else hear();
    });
    follow();
  };

  /* The bookmark ---------------------------------------------------------------------------------- */

  const addBookmark = () => {
    const bookmark = document.querySelector("a.bookmarklet");
    if (!bookmark) return;
    const form = JSON.stringify(`${location.origin}/add?url=`);
    bookmark.href = `javascript:location.href=${form}+encodeURIComponent(location.href)`;
    bookmark.addEventListener("click", (event) => event.preventDefault()); /* it is for other pages */
  };

  document.addEventListener("DOMContentLoaded", followLink);
  document.addEventListener("DOMContentLoaded", addBookmark);
})();
