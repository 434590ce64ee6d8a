// serve_items.js PORT DATABASE: items by id, as one would write it with fastify and pg.
'use strict';
const { Pool } = require('pg');
const app = require('fastify')();
const [port, database] = process.argv.slice(2);
const pool = new Pool({ connectionString: database, max: 10 });
const QUERY = {
    name: 'item',
    text: `SELECT i.id::int AS id, i.deleted, i.type, i.by, i.time::float8 AS time, i.text, i.dead,
        i.parent::int AS parent, i.poll::int AS poll, i.url, i.score, i.title, i.descendants,
        (SELECT json_agg(kid ORDER BY display_order) FROM tain.kids WHERE item = i.id) AS kids
        FROM tain.items i WHERE i.id = $1`,
};

app.get('/v0/item/:id.json', async (request, reply) => {
    const found = await pool.query({ ...QUERY, values: [parseInt(request.params.id, 10)] });
    const item = found.rows[0] || null;
    for (const name in item)
        if (item[name] === null || item[name] === false) delete item[name];
    reply.header('content-type', 'application/json');
    return JSON.stringify(item);
});

app.listen({ port: +port, host: '127.0.0.1' });
