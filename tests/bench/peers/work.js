// work.js DATABASE JOBS CONCURRENCY: graphile-worker does so many jobs that are there already.
// Prints the seconds from the start of the work to the end of the last job.
'use strict';
const { runTaskList } = require('graphile-worker');
const { Pool } = require('pg');
const [database, jobs, concurrency] = process.argv.slice(2);

async function main() {
    const pool = new Pool({ connectionString: database, max: +concurrency + 2 });
    const quiet = { error() {}, warning() {}, info() {}, debug() {} };
    const { Logger } = require('graphile-worker');
    const logger = new Logger(() => (level, text) => level in quiet || console.error(text));
    let done = 0;
    const began = process.hrtime.bigint();
    const finished = new Promise((resolve) => {
        const task = async () => {
            if (++done === +jobs) resolve();
        };
        runTaskList({ concurrency: +concurrency, pollInterval: 1000, logger }, { track: task },
                    pool);
    });
    await finished;
    for (;;) { // until the last of them is known to be done
        const left = await pool.query('SELECT count(*)::int AS n FROM graphile_worker.jobs');
        if (left.rows[0].n === 0) break;
    }
    console.log(Number(process.hrtime.bigint() - began) / 1e9);
    process.exit(0);
}

main();
