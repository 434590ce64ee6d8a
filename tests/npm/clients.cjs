// Asks the HN API for the same things through several published clients, and prints what each got as
// one JSON object: node --require to_local.cjs clients.cjs ID UNKNOWN_ID NAME UNKNOWN_NAME
'use strict';
const { createRequire } = require('node:module');
const { join } = require('node:path');

const from = createRequire(join(process.env.TAIN_NPM_FOLDER, 'package.json'));
const [id, unknownId, name, unknownName] = process.argv.slice(2);
const LISTS = ['Top', 'New', 'Best', 'Ask', 'Show', 'Job'];

// fetch and promises; a list is fetched with its items
async function nodeHnApi() {
  const hn = from('node-hn-api');
  const got = {
    item: await hn.fetchItem(Number(id)), noItem: await hn.fetchItem(Number(unknownId)),
    user: await hn.fetchUser(name), noUser: await hn.fetchUser(unknownName), lists: {},
  };
  for (const list of LISTS) got.lists[list.toLowerCase()] = await hn[`fetch${list}Stories`](5);
  return got;
}

// the package `request` and callbacks
async function hnApi() {
  const hn = from('hn-api');
  const ask = (method, ...rest) => new Promise((resolve, reject) => {
    hn[method](...rest, (error, data) => (error ? reject(error) : resolve(data)));
  });
  return {
    item: await ask('item', id), noItem: await ask('item', unknownId),
    user: await ask('user', name), noUser: await ask('user', unknownName),
    top: await ask('topStories'), maxitem: await ask('maxItem'),
  };
}

// XMLHttpRequest, synchronous: a process of its own for each request
function hackernewsApi() {
  const hn = from('hackernews-api');
  const got = {
    item: hn.getItem(id), noItem: hn.getItem(unknownId), user: hn.getUser(name),
    noUser: hn.getUser(unknownName), maxitem: hn.getMaxItem(), top: hn.getTopStories(),
    new: hn.getNewStories(),
  };
  return got;
}

// The first events of both streams, with the EventSource of npm.
async function eventSource() {
  const { EventSource } = await import(from.resolve('eventsource'));
  const first = (path) => new Promise((resolve, reject) => {
    const source = new EventSource(`https://hacker-news.firebaseio.com/v0/${path}`);
    source.addEventListener('put', (event) => {
      source.close();
      resolve(JSON.parse(event.data));
    });
    source.onerror = (error) => reject(error);
  });
  return { updates: await first('updates.json'), maxitem: await first('maxitem.json') };
}

(async () => {
  const got = {
    'node-hn-api': await nodeHnApi(), 'hn-api': await hnApi(),
    'hackernews-api': hackernewsApi(), eventsource: await eventSource(),
  };
  process.stdout.write(JSON.stringify(got));
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
