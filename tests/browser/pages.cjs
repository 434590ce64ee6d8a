/* The pages in a real browser. Called by test_pages.py as `node pages.cjs FACTS`, where FACTS is a
 * JSON file: base (address of the server), chromium, playwright (folder of the package), shots
 * (folder for pictures), and what the corpus holds. Prints a JSON object: for each case what does
 * not hold, or null. */
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");

const facts = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const { chromium } = require(facts.playwright);

const PATIENCE = 300000; /* milliseconds: for what never comes, however slow the machine */

let browser;

const open = async (where, options = {}) => {
  const context = await browser.newContext({ viewport: { width: 1100, height: 900 }, ...options });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  page.troubles = [];
  page.on("dialog", (dialog) => {
    page.troubles.push(`a dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("pageerror", (error) => page.troubles.push(`an error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error") page.troubles.push(`the console: ${message.text()}`);
  });
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith("http") && url.origin !== facts.base)
      page.troubles.push(`asks elsewhere: ${url.origin}`);
  });
  const answer = await page.goto(facts.base + where);
  assert.equal(answer.status(), 200, where);
  return page;
};

/* What is done leads to another page, or to another place of this one: goes on when it is there. */
const leads = async (page, act) => {
  const there = page.waitForNavigation();
  await act();
  await there;
};

const follow = (page, link) => leads(page, () => page.locator(link).first().click());

const shown = (page, what, state = "visible") => page.locator(what).first().waitFor({ state });

const focused = (page, selector) =>
  page.waitForFunction((s) => document.activeElement.matches(s), selector);

const shot = (page, name, fullPage = false) =>
  page.screenshot({ path: path.join(facts.shots, `${name}.png`), fullPage });

const well = (page) => assert.deepEqual(page.troubles, []);

const overflow = (page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

const luminance = (page) =>
  page.evaluate(() => {
    const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g).map(Number);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  });

/* Which texts of the page stand out from their ground by less than 4.5, the ratio that WCAG asks
 * for: {where: ratio}. */
const pale = (page) =>
  page.evaluate(() => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const colour = (text) => {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = text;
      canvas.fillRect(0, 0, 1, 1);
      return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = (rgb) => {
      const [r, g, b] = rgb.map((v) => (v <= 10 ? v / 3295 : ((v / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const up = (element) => (element ? [element, ...up(element.parentElement)] : []);
    const found = {};
    for (const element of document.querySelectorAll("main *, footer *")) {
      const style = getComputedStyle(element);
      const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
      if (!own || style.clipPath !== "none") continue;
      const above = up(element).map((e) => getComputedStyle(e));
      const ground = above.map((s) => colour(s.backgroundColor)).find((c) => c[3] > 230);
      const strength = above.reduce((all, s) => all * Number(s.opacity), 1);
      const ink = colour(style.color).map((v, i) => v * strength + ground[i] * (1 - strength));
      const [a, b] = [light(ink.slice(0, 3)), light(ground.slice(0, 3))];
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (ratio < 4.5) found[`${element.tagName}.${element.className}`] = ratio.toFixed(2);
    }
    return found;
  });

const focusedComment = (page) =>
  page.evaluate(() => {
    const comment = document.activeElement.closest(".c");
    return comment ? Number(comment.id) : 0;
  });

const isOpen = (page, id) =>
  page.evaluate((i) => document.getElementById(i).querySelector("details").open, id);

const thread = `/item?id=${facts.story}`;

const cases = {
  async front() {
    const page = await open("/");
    assert.equal(await page.title(), "tain: Hacker News, mirrored");
    assert.equal(await page.locator(".story").count(), 30);
    assert.equal(await page.locator("nav [aria-current=page]").innerText(), "top");
    assert.match(await page.locator("footer").innerText(), /A mirror of Hacker News/);
    await shot(page, "front");
    await follow(page, ".more a");
    assert.equal(await page.locator(".rank").first().innerText(), "31");
    await page.goBack();
    await follow(page, ".story .replies");
    assert.match(page.url(), /\/item\?id=\d+$/);
    for (const list of ["new", "best", "ask", "show", "jobs"]) {
      await follow(page, `nav.lists >> text="${list}"`);
      assert.equal(await page.locator("nav [aria-current=page]").innerText(), list);
      assert.ok((await page.locator(".story").count()) > 0, list);
    }
    well(page);
  },

  async thread() {
    const page = await open(thread);
    const ids = await page.locator(".c").evaluateAll((all) => all.map((c) => Number(c.id)));
    assert.deepEqual(ids, facts.order, "the order of the upstream");
    const parents = await page
      .locator(".c")
      .evaluateAll((all) => all.map((c) => Number((c.parentElement.closest(".c") || { id: 0 }).id)));
    assert.deepEqual(parents, facts.parents, "each below what it answers");
    await shot(page, "thread");
    const reply = facts.order[facts.parents.findIndex((p) => p !== 0)];
    const parent = facts.parents[facts.order.indexOf(reply)];
    await follow(page, `[id="${reply}"] > header >> text="parent"`);
    assert.equal(new URL(page.url()).hash, `#${parent}`);
    await follow(page, `[id="${reply}"] > header .when`);
    assert.equal(new URL(page.url()).search, `?id=${reply}`);
    assert.match(await page.locator("h1").innerText(), /^Comment on /);
    await shot(page, "comment");
    await follow(page, 'text="in its thread"');
    assert.equal(new URL(page.url()).hash, `#${reply}`);
    well(page);
  },

  async keys() {
    const page = await open(thread);
    await page.keyboard.press("j");
    assert.equal(await focusedComment(page), facts.order[0]);
    await page.keyboard.press("j");
    assert.equal(await focusedComment(page), facts.order[1]);
    await page.keyboard.press("k");
    assert.equal(await focusedComment(page), facts.order[0]);
    assert.equal(await isOpen(page, facts.order[0]), true);
    await page.keyboard.press("o");
    assert.equal(await isOpen(page, facts.order[0]), false);
    await shown(page, `[id="${facts.order[1]}"] > header`, "hidden");
    await shot(page, "collapsed");
    await page.keyboard.press("j"); /* over what is closed */
    const next = facts.order.find((id, i) => i > 0 && facts.parents[i] === 0);
    assert.equal(await focusedComment(page), next);
    await page.keyboard.press("k");
    await page.keyboard.press("Enter");
    assert.equal(await isOpen(page, facts.order[0]), true);
    await page.keyboard.press("Shift+J");
    assert.equal(await focusedComment(page), next);
    await page.keyboard.press("/");
    await focused(page, "#q");
    await page.keyboard.type("jok?"); /* keys are letters there */
    assert.equal(await page.locator("#q").inputValue(), "jok?");
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await shown(page, "dialog.keys");
    await shot(page, "keys");
    await page.keyboard.press("Escape");
    await shown(page, "dialog.keys", "hidden");
    well(page);
  },

  async keys_in_lists() {
    const page = await open("/newest");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    assert.equal(
      await page.evaluate(() => document.activeElement.closest(".story").querySelector(".rank").textContent),
      "2",
    );
    await page.keyboard.press("c");
    await page.waitForURL(/\/item\?id=\d+$/);
    well(page);
  },

  async skip_link() {
    const page = await open("/");
    await page.keyboard.press("Tab");
    await focused(page, ".skip");
    await page.keyboard.press("Enter");
    await focused(page, "#main");
    await page.keyboard.press("Tab");
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.equal(outline, "solid", "the focus can be seen");
    well(page);
  },

  async dark() {
    const light = await open(thread, { colorScheme: "light" });
    assert.ok((await luminance(light)) > 200);
    const page = await open(thread, { colorScheme: "dark" });
    assert.ok((await luminance(page)) < 60);
    await shot(page, "thread-dark");
    await page.goto(`${facts.base}/`);
    await shot(page, "front-dark");
    await page.locator("button.theme").click();
    assert.ok((await luminance(page)) > 200, "light by choice");
    await page.reload();
    assert.ok((await luminance(page)) > 200, "and it is kept");
    await page.locator("button.theme").click();
    assert.ok((await luminance(page)) < 60);
    well(light);
    well(page);
  },

  async contrast() {
    for (const colorScheme of ["light", "dark"]) {
      const page = await open("/", { colorScheme });
      for (const where of [...Object.values(facts.pages), "/item?id=999999999", "/nowhere"]) {
        await page.goto(facts.base + where);
        assert.deepEqual(await pale(page), {}, `${colorScheme} ${where}`);
      }
    }
  },

  async phone() {
    const page = await open("/", { viewport: { width: 360, height: 780 }, hasTouch: true, isMobile: true });
    for (const [name, where] of Object.entries(facts.pages)) {
      await page.goto(facts.base + where);
      assert.equal(await overflow(page), 0, `${where} is wider than a phone`);
      await shot(page, `phone-${name}`);
    }
    await page.goto(`${facts.base}${thread}`);
    const rail = page.locator(".c summary").first();
    const box = await rail.boundingBox();
    assert.ok(box.width >= 14 && box.height >= 24, `a finger finds ${box.width} x ${box.height}`);
    await rail.tap();
    assert.equal(await isOpen(page, facts.order[0]), false);
    await page.goto(`${facts.base}/item?id=${facts.code}`);
    const wide = await page.locator("pre").evaluateAll((all) => all.some((p) => p.scrollWidth > p.clientWidth));
    assert.ok(wide, "code is wider than the page, and scrolls by itself");
    assert.equal(await overflow(page), 0);
    well(page);
  },

  async wide() {
    for (const width of [1100, 360]) {
      const page = await open("/", { viewport: { width, height: 780 } });
      for (const where of facts.wide) {
        await page.goto(facts.base + where);
        assert.equal(await overflow(page), 0, `${where.slice(0, 40)} is wider than ${width}`);
      }
      await page.goto(facts.base + facts.wide[0]);
      await shot(page, `wide-${width}`);
    }
    /* far down on a phone, what closes a comment stands clear of its author's name */
    const page = await open(facts.wide[0], { viewport: { width: 360, height: 780 } });
    for (const depth of [1, 4, 7, 9]) {
      const gap = await page.evaluate((d) => {
        const comment = document.querySelector(`.c.d${d}`);
        const sign = getComputedStyle(comment.querySelector("summary"), "::after").width;
        const rail = comment.querySelector("summary").getBoundingClientRect().left;
        return comment.querySelector("header .by").getBoundingClientRect().left - rail - parseFloat(sign);
      }, depth);
      assert.ok(gap >= 3, `${gap} pixels at depth ${depth}`);
    }
  },

  async without_script() {
    const page = await open(thread, { javaScriptEnabled: false });
    assert.equal(await page.locator(".c").count(), facts.order.length);
    assert.equal(await page.locator("button.theme, dialog").count(), 0, "nothing that would do nothing");
    const second = page.locator(`[id="${facts.order[1]}"] > header`);
    await second.waitFor();
    await page.locator(`[id="${facts.order[0]}"] > details > summary`).click({ position: { x: 5, y: 30 } });
    await second.waitFor({ state: "hidden" });
    await shot(page, "without-script");
    await page.goto(`${facts.base}${thread}#${facts.order[1]}`);
    await page.locator("#q").fill(facts.word);
    await leads(page, () => page.locator("#q").press("Enter"));
    assert.match(page.url(), /\/search\?.*q=/);
    for (const where of Object.values(facts.pages)) {
      const answer = await page.goto(facts.base + where);
      assert.equal(answer.status(), 200);
      assert.ok((await page.locator("main").innerText()).length > 20, where);
    }
    well(page);
  },

  async search() {
    const page = await open("/");
    await page.keyboard.press("/");
    await page.keyboard.type(facts.word);
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/search/);
    assert.equal(await page.locator("#q").inputValue(), facts.word);
    const marks = page.locator("main mark, main em");
    assert.ok((await marks.count()) > 0, "what was found is marked");
    assert.equal((await marks.first().innerText()).toLowerCase().startsWith(facts.word.slice(0, 4)), true);
    await shot(page, "search");
    await page.locator("#q").press("Escape");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    const at = await page.evaluate(() =>
      [...document.querySelectorAll(".hit")].indexOf(document.activeElement.closest(".hit")),
    );
    assert.equal(at, 1, "keys step through what was found");
    await page.keyboard.press("c");
    await page.waitForURL(/\/item\?id=\d+$/);
    well(page);
  },

  async status() {
    const page = await open("/status");
    assert.ok((await page.locator("main svg").count()) > 0, "something is drawn");
    await shot(page, "status", true);
    well(page);
  },

  async people() {
    const page = await open(facts.pages.user);
    assert.equal(await page.locator("h1").innerText(), facts.user);
    assert.ok((await page.locator(".story, .work").count()) > 0);
    await shot(page, "user");
    for (const tab of ["stories", "comments"]) {
      await follow(page, `nav.tabs >> text="${tab}"`);
      assert.equal(await page.locator("nav.tabs [aria-current=page]").innerText(), tab);
    }
    well(page);
  },

  async long_thread() {
    const page = await open(`/item?id=${facts.long}`);
    assert.equal(await page.locator(".c").count(), facts.long_n);
    await page.keyboard.press("j");
    assert.ok((await focusedComment(page)) > 0);
    await shot(page, "long-thread");
    well(page);
  },

  /* With the policy of the server, and with the policy switched off: what keeps script out is that
   * nothing hostile becomes markup. */
  async hostile() {
    for (const bypassCSP of [false, true]) {
      const page = await open("/", { bypassCSP });
      for (const where of facts.hostile) {
        const answer = await page.goto(facts.base + where);
        assert.equal(answer.status(), 200, where);
        const found = await page.evaluate(() => ({
          ran: window.__ran,
          alien: document.querySelectorAll(
            "body script, iframe, object, embed, img, style, base, math, animate, body meta, " +
              "body link, [style], [onclick], [onerror], [onload], [onfocus], [onmouseover], " +
              "[ontoggle], [srcdoc], main form:not([action^='/'])",
          ).length,
          links: [...document.links].map((a) => a.protocol).filter((p) => !/^(https?|mailto):$/.test(p)),
          mains: document.querySelectorAll("main").length,
          outside: document.querySelectorAll("body > :not(a, header, main, footer, dialog)").length,
        }));
        assert.deepEqual(found, { alien: 0, links: [], mains: 1, outside: 0, ran: undefined }, where);
        await page.hover("main");
      }
      if (!bypassCSP) await shot(page, "hostile");
      well(page);
    }
  },
};

(async () => {
  const said = {};
  browser = await chromium.launch({
    executablePath: facts.chromium,
    timeout: PATIENCE,
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
  for (const [name, run] of Object.entries(cases)) {
    if (facts.only && !facts.only.includes(name)) continue;
    try {
      await run();
      said[name] = null;
    } catch (error) {
      said[name] = error.stack;
    }
    await Promise.all(browser.contexts().map((context) => context.close()));
  }
  await browser.close();
  console.log(JSON.stringify(said));
})().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
