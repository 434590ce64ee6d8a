// Asks the HN Search API through a published client, and prints what it got as one JSON object:
// node --require to_local.cjs search_client.cjs STORY_ID NAME WORD
'use strict';
const { createRequire } = require('node:module');
const { join } = require('node:path');

const from = createRequire(join(process.env.TAIN_NPM_FOLDER, 'package.json'));
const hn = from('hacker-news-api');
const [id, name, word] = process.argv.slice(2);

// The last call of a chain takes a callback; what is not 200 comes as its error.
const ask = (last) => new Promise((resolve, reject) => {
  last((error, data) => (error ? reject(error) : resolve(data)));
});

(async () => {
  const got = {
    item: await ask((done) => hn.item(id, done)),
    noItem: await ask((done) => hn.item('99999999', done)).catch((error) => error),
    recent: await ask((done) => hn.ask_hn().poll().comment().recent(done)),
    top: await ask((done) => hn.author(name).story().show_hn().top(done)),
    below: await ask((done) => hn.comment().story(id).top(done)),
    words: await ask((done) => hn.comment().story().search(word, done)),
    since: await ask((done) => hn.story().since('past_week', done)),
    before: await ask((done) => hn.story().before('past_24h', done)),
    third: await ask((done) => hn.hitsPerPage(50).page(2).comment().recent(done)),
  };
  process.stdout.write(JSON.stringify(got));
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
