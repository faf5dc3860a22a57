/** Why something failed: the message, the handler's traceback, and what to do. */

import { CopyButton } from '../../components/Copy';
import type { ComponentChildren } from 'preact';

export interface Cause {
  type: string;
  message: string;
  traceback: string | null;
  hint: string | null;
  where: string | null;
  rest: Record<string, unknown> | null;
}

/** Read an error document: its innermost cause, and where it happened. */
export function causeOf(error: unknown): Cause {
  const empty: Cause = { type: '', message: '', traceback: null, hint: null, where: null, rest: null };
  if (error === null || typeof error !== 'object') return { ...empty, message: String(error ?? '') };
  const { type, message, traceback, hint, cause, stage, part, task: _, ...rest } = error as Record<string, unknown>;
  const text = (value: unknown) => (typeof value === 'string' && value ? value : null);
  const inner = cause ? causeOf(cause) : null;
  return {
    type: text(type) ?? inner?.type ?? '',
    message: text(message) ?? inner?.message ?? '',
    traceback: text(traceback) ?? inner?.traceback ?? null,
    hint: text(hint) ?? inner?.hint ?? null,
    where: typeof stage === 'string' ? `${stage}${typeof part === 'number' ? ` ${part}` : ''}` : (inner?.where ?? null),
    rest: Object.keys(rest).length ? rest : (inner?.rest ?? null),
  };
}

/** Say what to do about a failure, from its type and message. */
export function adviceOf(cause: Cause): string {
  if (cause.hint) return cause.hint;
  const text = `${cause.type} ${cause.message}`.toLowerCase();
  if (cause.type === 'Fail') return 'The handler refused this input for good. Submit the job again with another spec; a retry would fail again.';
  if (/no space|disk full|enospc/.test(text)) return 'Make room on the disk of the worker, then retry.';
  if (/timed? ?out|timeout/.test(text)) return 'Raise the timeout of the stage or look at what the worker waited for, then retry.';
  if (/lease expired|worker died|lost/.test(text)) return 'A worker died or froze while it ran this. Look at the worker’s log and memory, then retry.';
  if (/connection|network|unreachable|refused|reset/.test(text)) return 'Check that the worker reaches the service, then retry.';
  if (/memory|oom|sigkill|killed/.test(text)) return 'The process was killed, often for its memory. Give the worker more, or fewer slots, then retry.';
  if (/not found|no such file|404/.test(text)) return 'Check that the source exists and that the worker may read it, then retry.';
  return 'Read the traceback and the log of the task. When the cause is fixed, retry: finished tasks keep their results.';
}

export function Problem({ error, title, actions }: { error: unknown; title: string; actions?: ComponentChildren }) {
  const cause = causeOf(error);
  return (
    <div class="notice error problem" role="group" aria-label={title}>
      <div class="row wrap">
        <strong class="grow">
          {title}
          {cause.where && <> in {cause.where}</>}
        </strong>
        {actions}
        <CopyButton label="Copy the error" text={JSON.stringify(error, null, 2)} />
      </div>
      <p class="problem-message">
        {cause.type && <code>{cause.type}</code>} {cause.message}
      </p>
      <p class="muted">{adviceOf(cause)}</p>
      {cause.traceback && (
        <details>
          <summary>Traceback</summary>
          <pre class="pre" tabIndex={0}>
            {cause.traceback}
          </pre>
        </details>
      )}
      {cause.rest && (
        <details>
          <summary>Details</summary>
          <pre class="pre" tabIndex={0}>
            {JSON.stringify(cause.rest, null, 2)}
          </pre>
        </details>
      )}
    </div>
  );
}
