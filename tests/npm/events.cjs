// Listens to /events with the EventSource of npm and prints each hello and each event of one name as a
// line of JSON, until it has so many: node events.cjs URL N [NAME], which is items if not said
'use strict';
const { createRequire } = require('node:module');
const { join } = require('node:path');

const from = createRequire(join(process.env.TAIN_NPM_FOLDER, 'package.json'));
const [url, wanted, name = 'items'] = process.argv.slice(2);

(async () => {
  const { EventSource } = await import(from.resolve('eventsource'));
  const source = new EventSource(url);
  let n = 0;
  const tell = (event) => {
    console.log(JSON.stringify({ event: event.type, id: event.lastEventId,
      data: JSON.parse(event.data) }));
  };
  source.addEventListener('hello', tell);
  source.addEventListener(name, (event) => {
    tell(event);
    n += 1;
    if (n >= Number(wanted)) source.close();
  });
})();
