// Submits or drains no-op jobs with pg-boss and prints {"rate": …} on one line.
// Usage: node measure.mjs <prepare|submit|drain|dispatch> <url> [count]
import { PgBoss } from "pg-boss";
import pg from "pg";

const BATCH = 1000;
const QUEUE = "noop";
const [verb, connectionString, countText] = process.argv.slice(2);
const count = Number(countText ?? 0);

function payload(number) {
  const path = `/media/source/${String(number).padStart(8, "0")}.mp4`;
  return { number, path, note: "x".repeat(40) };
}

function rateSince(started) {
  return (count * 1000) / (performance.now() - started);
}

async function started(options = {}) {
  const boss = new PgBoss({ connectionString, max: 10, supervise: false, schedule: false, ...options });
  boss.on("error", (error) => console.error(error));
  await boss.start();
  return boss;
}

async function prepare() {
  const boss = await started();
  await boss.createQueue(QUEUE, { notify: true });
  await boss.stop();
  return 0;
}

async function submit() {
  const boss = await started();
  const began = performance.now();
  for (let first = 0; first < count; first += BATCH) {
    const size = Math.min(BATCH, count - first);
    await boss.insert(QUEUE, Array.from({ length: size }, (_, index) => ({ data: payload(first + index) })));
  }
  const rate = rateSince(began);
  await boss.stop();
  return rate;
}

async function untilFinished(client) {
  const text = "SELECT EXISTS (SELECT FROM pgboss.job WHERE name = $1 AND state < 'completed') AS waiting";
  while ((await client.query({ name: "waiting", text, values: [QUEUE] })).rows[0].waiting) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

async function drain() {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const boss = await started({ useListenNotify: true });
  let handled = 0;
  let began = 0;
  let allHandled;
  const finished = new Promise((resolve) => (allHandled = resolve));
  const noop = async (jobs) => {
    if (handled === 0) began = performance.now();
    handled += jobs.length;
    if (handled === count) allHandled();
  };
  const options = { batchSize: BATCH, localConcurrency: 2, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 };
  await boss.work(QUEUE, options, noop);
  await finished;
  await untilFinished(client);
  const rate = rateSince(began);
  await boss.stop();
  await client.end();
  if (handled !== count) throw new Error(`handled ${handled} jobs, expected ${count}`);
  return rate;
}

// Seconds from before `send` to the start of its handler on an idle worker, the median of `count`.
async function dispatch() {
  let handlerStarted;
  const boss = await started({ useListenNotify: true });
  await boss.work(QUEUE, { localConcurrency: 2 }, async () => handlerStarted(performance.now()));
  const seconds = [];
  for (let number = 0; number < count; number += 1) {
    await new Promise((resolve) => setTimeout(resolve, 30));
    const handling = new Promise((resolve) => (handlerStarted = resolve));
    const enqueued = performance.now();
    await boss.send(QUEUE, payload(number));
    seconds.push(((await handling) - enqueued) / 1000);
  }
  await boss.stop();
  return seconds.sort((a, b) => a - b)[Math.floor(count / 2)];
}

const rate = await { prepare, submit, drain, dispatch }[verb]();
console.log(JSON.stringify({ rate, node: process.version }));
process.exit(0);
