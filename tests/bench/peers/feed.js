// feed.js PORT DATABASE: what PostgreSQL notifies of goes to every WebSocket, with ws and pg. It
// speaks as feed_clients.c expects it.
'use strict';
const { Client } = require('pg');
const { WebSocketServer, WebSocket } = require('ws');
const [port, database] = process.argv.slice(2);

async function main() {
    const db = new Client({ connectionString: database });
    const server = new WebSocketServer({ port: +port, host: '127.0.0.1', backlog: 4096 });
    let position = 0;
    server.on('connection', (socket) => socket.send('{"type":"hello"}'));
    db.on('notification', (message) => {
        const frame = `{"id":"1-${++position}","table":"items","data":${message.payload}}`;
        for (const socket of server.clients)
            if (socket.readyState === WebSocket.OPEN) socket.send(frame);
    });
    await db.connect();
    await db.query('LISTEN changes');
    console.log('ready');
}

main();
