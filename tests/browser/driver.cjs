/* A browser that does what it is told, for tests that do something else between two steps. Called by
 * browser.py as `node driver.cjs PLAYWRIGHT CHROMIUM`; each line of the input is a JSON object
 * {page, do, with}, each line of the output says what came of it: {value} or {error}. */
"use strict";

const readline = require("node:readline");

const [playwright, chromium] = process.argv.slice(2);
const PATIENCE = 300000; /* milliseconds: for what never comes, however slow the machine */

let browser;
const pages = {};

/* What a page may hear of its server is taken from it, so that the other way can be seen to work; or
 * the pause between two looks. */
const without = {
  pauses: () => {
    const later = window.setTimeout;
    window.setTimeout = (act, ms) => later(act, ms >= 2000 ? 20 : ms);
  },
  polls: () => {
    const later = window.setTimeout;
    window.setTimeout = (act, ms) => (ms >= 2000 ? 0 : later(act, ms));
  },
  events: () => {
    window.EventSource = class {
      addEventListener() {}
      close() {}
    };
  },
};

const watch = (page, origin) => {
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
    if (url.protocol.startsWith("http") && url.origin !== origin)
      page.troubles.push(`asks elsewhere: ${url.origin}`);
  });
};

const find = (page, { what, text }) =>
  page.locator(what, text === undefined ? {} : { hasText: text }).first();

const deeds = {
  async open(name, { url, lacks = [], ...options }) {
    const context = await browser.newContext({ viewport: { width: 1000, height: 800 }, ...options });
    context.setDefaultTimeout(PATIENCE);
    for (const one of lacks) await context.addInitScript(without[one]);
    const page = await context.newPage();
    watch(page, new URL(url).origin);
    pages[name] = page;
    const answer = await page.goto(url);
    return answer.status();
  },
  close: (name) => pages[name].context().close(),
  see: (name, args) => find(pages[name], args).waitFor(),
  miss: (name, args) => find(pages[name], args).waitFor({ state: "hidden" }),
  click: (name, args) => find(pages[name], args).click(),
  fill: (name, { text, ...args }) => find(pages[name], args).fill(text),
  focus: (name, args) => find(pages[name], args).focus(),
  press: (name, { key }) => pages[name].keyboard.press(key),
  type: (name, { text }) => pages[name].keyboard.type(text),
  count: (name, { what }) => pages[name].locator(what).count(),
  text: (name, args) => find(pages[name], args).innerText(),
  attribute: (name, { attribute, ...args }) => find(pages[name], args).getAttribute(attribute),
  /* until its address ends so */
  async at(name, { end }) {
    await pages[name].waitForURL((url) => url.href.endsWith(end));
    return pages[name].url();
  },
  /* What it goes to from now on comes so much later, and is counted. */
  async delay(name, { ms }) {
    const page = pages[name];
    page.asked = 0;
    await page.route("**/*", (route) => {
      if (!route.request().isNavigationRequest()) return route.continue();
      page.asked += 1;
      return setTimeout(() => route.continue().catch(() => {}), ms); /* it may be broken off */
    });
  },
  asked: (name) => pages[name].asked,
  url: (name) => pages[name].url(),
  title: (name) => pages[name].title(),
  run: (name, { script }) => pages[name].evaluate(script),
  shot: (name, { path }) => pages[name].screenshot({ path, fullPage: true }),
  troubles: (name) => pages[name].troubles,
};

const obey = async (line) => {
  const { page, do: deed, with: args } = JSON.parse(line);
  try {
    const value = await deeds[deed](page, args);
    return { value: value === undefined ? null : value };
  } catch (error) {
    return { error: error.stack };
  }
};

(async () => {
  browser = await require(playwright).chromium.launch({
    executablePath: chromium,
    timeout: PATIENCE,
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
  console.log(JSON.stringify({ value: "ready" }));
  for await (const line of readline.createInterface({ input: process.stdin }))
    console.log(JSON.stringify(await obey(line)));
  await browser.close();
})().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
