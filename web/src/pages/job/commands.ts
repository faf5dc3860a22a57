/** The newest command of a task, read when somebody looks at the task. */

import { signal, type Signal } from '@preact/signals';
import { api } from '../../api/client';
import type { Step } from '../../api/types';
import type { TaskName } from './tasks';

const DWELL = 200;
const known = new Map<string, Signal<Step | null | undefined>>();

/** Return the newest step of a task as a signal: undefined while it is read, null for none. `version` reads it anew. */
export function commandOf(job: string, task: TaskName, version: string): Signal<Step | null | undefined> {
  const key = `${job}/${task.stage}/${task.part}/${version}`;
  let found = known.get(key);
  if (!found) {
    found = signal<Step | null | undefined>(undefined);
    known.set(key, found);
    if (known.size > 200) known.delete(known.keys().next().value ?? '');
    const target = found;
    setTimeout(() => void read(job, task, target), DWELL);
  }
  return found;
}

async function read(job: string, task: TaskName, target: Signal<Step | null | undefined>): Promise<void> {
  try {
    const page = await api.get('/api/v1/jobs/{job_id}/steps', { path: { job_id: job }, query: { stage: task.stage, part: task.part, limit: 50 } });
    target.value = page.items.at(-1) ?? null;
  } catch {
    target.value = null;
  }
}

/** Return a command as a line that can be pasted into a shell. */
export function shellLine(argv: readonly string[]): string {
  return argv.map((argument) => (/^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`)).join(' ');
}

/** Return a command in short: the name of the program instead of its path. */
export function shortLine(argv: readonly string[], length = 220): string {
  const [program = '', ...rest] = argv;
  const line = shellLine([program.split('/').pop() ?? program, ...rest]);
  return line.length > length ? `${line.slice(0, length)} …` : line;
}
