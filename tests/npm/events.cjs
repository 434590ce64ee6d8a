// Listens to /events with the EventSource of npm and prints each hello and each change of items as a
// line of JSON, until it has so many changes: node events.cjs URL N
'use strict';
const { createRequire } = require('node:module');
const { join } = require('node:path');

const from = createRequire(join(process.env.TAIN_NPM_FOLDER, 'package.json'));
const [url, wanted] = process.argv.slice(2);

(async () => {
  const { EventSource } = await import(from.resolve('eventsource'));
  const source = new EventSource(url);
  let n = 0;
  const tell = (event) => {
    console.log(JSON.stringify({ event: event.type, id: event.lastEventId,
      data: JSON.parse(event.data) }));
  };
  source.addEventListener('hello', tell);
  source.addEventListener('items', (event) => {
    tell(event);
    n += 1;
    if (n >= Number(wanted)) source.close();
  });
})();
