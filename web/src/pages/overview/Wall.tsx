/** The workers as a wall of slots that light up with what they run. */

import { hrefOf } from '../../router';
import { number } from '../../format';
import { statusOf, tasksOf, type Fleet, type RunningTask } from '../workers/fleet';
import { Status } from '../../components/Status';

/** Slots of one worker beyond which the rest is a number. */
const MAX_SLOTS = 96;

export function Wall({ fleet }: { fleet: Fleet }) {
  const workers = fleet.workers.filter((worker) => worker.status !== 'offline').sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
  return (
    <ul class="wall">
      {workers.map((worker) => {
        const tasks = tasksOf(fleet, worker);
        const slots = Math.max(worker.slots, tasks.length);
        return (
          <li key={worker.id} class="wall-worker">
            <div class="wall-name">
              <a class="truncate" href={hrefOf(['workers'], { name: worker.name })}>
                {worker.name}
              </a>
              <Status status={statusOf(fleet, worker)} />
              <span class="muted small">
                {number(tasks.length)} / {number(worker.slots)}
              </span>
            </div>
            <div class="wall-slots">
              {Array.from({ length: Math.min(slots, MAX_SLOTS) }, (_, index) => (
                <Slot key={index} task={tasks[index]} />
              ))}
              {slots > MAX_SLOTS && <span class="muted small">+{number(slots - MAX_SLOTS)}</span>}
            </div>
          </li>
        );
      })}
    </ul>
  );
}

function Slot({ task }: { task: RunningTask | undefined }) {
  if (!task) return <span class="wall-slot" />;
  const name = `${task.stage} ${task.part}`;
  return (
    <a class="wall-slot" data-busy="true" href={hrefOf(['jobs', task.job], { task: `${task.stage}/${task.part}` })} title={`${name}\njob ${task.job}\n${Math.floor(task.percent)} %`} aria-label={`${name} of job ${task.job}`}>
      <span class="wall-fill" style={{ transform: `scaleX(${Math.min(1, task.percent / 100)})` }} />
      <span class="wall-text truncate">{name}</span>
    </a>
  );
}
