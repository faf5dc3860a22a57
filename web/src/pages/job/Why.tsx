/** Why a job or a task does not run now, as the store knows it. */

import { api } from '../../api/client';
import { useResource } from '../../live/resource';
import { usePolling } from '../../live/polling';
import type { TaskName } from './tasks';

/** Causes such as a time change without an event. */
const POLL = 5000;

export function Why({ job, task }: { job: string; task?: TaskName }) {
  const explained = useResource(
    () => ({
      job,
      load: (signal) => api.get('/api/v1/jobs/{job_id}/why', { path: { job_id: job }, query: task ? { stage: task.stage, part: task.part } : {}, signal }),
      every: 1000,
    }),
    [job, task?.stage, task?.part],
  );
  usePolling(explained, POLL);
  const reasons = explained.value.value?.reasons;
  if (!reasons?.length) return null;
  return (
    <div class="notice why" role="status">
      <strong>{task ? 'Why it waits' : 'Why nothing runs'}</strong>
      <ul>
        {reasons.map((reason) => (
          <li key={`${reason.kind}${reason.subject}${reason.stage}${reason.part}`}>
            {!task && reason.subject && <code>{reason.subject}</code>} {reason.sentence}
          </li>
        ))}
      </ul>
    </div>
  );
}
