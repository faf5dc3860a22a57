// Submits or drains no-op jobs with graphile-worker and prints {"rate": …} on one line.
// Usage: node measure.mjs <prepare|submit|drain|dispatch> <url> [count]
import { Logger, makeWorkerUtils, run, runMigrations } from "graphile-worker";
import pg from "pg";

const BATCH = 1000;
const [verb, connectionString, countText] = process.argv.slice(2);
const count = Number(countText ?? 0);
const logger = new Logger(() => () => {});
const preset = {
  worker: {
    connectionString,
    concurrentJobs: 24,
    maxPoolSize: 25,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  },
};

function payload(number) {
  const path = `/media/source/${String(number).padStart(8, "0")}.mp4`;
  return { number, path, note: "x".repeat(40) };
}

function rateSince(started) {
  return (count * 1000) / (performance.now() - started);
}

async function prepare() {
  await runMigrations({ preset, logger });
  return 0;
}

async function submit() {
  const utils = await makeWorkerUtils({ preset, logger });
  await utils.withPgClient((client) => client.query("SELECT 1"));
  const started = performance.now();
  for (let first = 0; first < count; first += BATCH) {
    const size = Math.min(BATCH, count - first);
    const specs = Array.from({ length: size }, (_, index) => ({
      identifier: "noop",
      payload: payload(first + index),
    }));
    await utils.addJobs(specs);
  }
  const rate = rateSince(started);
  await utils.release();
  return rate;
}

async function untilEmpty(client) {
  const query = { name: "empty", text: "SELECT EXISTS (SELECT FROM graphile_worker._private_jobs) AS waiting" };
  while ((await client.query(query)).rows[0].waiting) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

async function drain() {
  const client = new pg.Client({ connectionString });
  await client.connect();
  let handled = 0;
  let started = 0;
  let allHandled;
  const finished = new Promise((resolve) => (allHandled = resolve));
  const noop = async () => {
    if (handled === 0) started = performance.now();
    handled += 1;
    if (handled === count) allHandled();
  };
  const runner = await run({ preset, logger, taskList: { noop }, noHandleSignals: true });
  await finished;
  await untilEmpty(client);
  const rate = rateSince(started);
  await runner.stop();
  await client.end();
  if (handled !== count) throw new Error(`handled ${handled} jobs, expected ${count}`);
  return rate;
}

// Seconds from before addJob to the start of its handler on an idle runner, the median of `count`.
async function dispatch() {
  let handlerStarted;
  const noop = async () => handlerStarted(performance.now());
  const single = { worker: { connectionString, concurrentJobs: 10, maxPoolSize: 12 } };
  const runner = await run({ preset: single, logger, taskList: { noop }, noHandleSignals: true });
  const utils = await makeWorkerUtils({ preset: single, logger });
  const seconds = [];
  for (let number = 0; number < count; number += 1) {
    await new Promise((resolve) => setTimeout(resolve, 30));
    const started = new Promise((resolve) => (handlerStarted = resolve));
    const enqueued = performance.now();
    await utils.addJob("noop", payload(number));
    seconds.push(((await started) - enqueued) / 1000);
  }
  await utils.release();
  await runner.stop();
  return seconds.sort((a, b) => a - b)[Math.floor(count / 2)];
}

const rate = await { prepare, submit, drain, dispatch }[verb]();
console.log(JSON.stringify({ rate, node: process.version }));
