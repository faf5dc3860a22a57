import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { ApiError } from '../api/client';
import { Dialog } from './Dialog';

export interface Question {
  title: string;
  /** What will happen. */
  body?: ComponentChildren;
  /** The label of the button that does it: a verb. */
  action: string;
  isDangerous?: boolean;
  /** Whether a reason is asked for, and whether it must be given. */
  reason?: 'optional' | 'required';
  /** Text that must be typed first, such as the name of what is deleted. */
  typed?: string;
  /** Does it; an error is shown in the dialog, which stays open. */
  run(reason: string | null): Promise<void>;
}

const asked = signal<{ question: Question; id: number } | null>(null);
let last = 0;

/** Ask before something is done. */
export function confirm(question: Question): void {
  asked.value = { question, id: ++last };
}

export function ConfirmDialog() {
  return asked.value && <Asked key={asked.value.id} question={asked.value.question} />;
}

function Asked({ question }: { question: Question }) {
  const [reason, setReason] = useState('');
  const [typed, setTyped] = useState('');
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const form = useId();
  const close = () => {
    asked.value = null;
  };
  const isReady =
    !isBusy && (question.reason !== 'required' || reason.trim() !== '') && (!question.typed || typed === question.typed);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (!isReady) return;
    setBusy(true);
    setError(null);
    try {
      await question.run(reason.trim() || null);
      close();
    } catch (refused) {
      setError(refused instanceof ApiError ? refused : new ApiError(0, String(refused)));
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={question.title}
      onClose={close}
      foot={
        <>
          <button type="button" class="button" onClick={close}>
            Back
          </button>
          <button type="submit" form={form} class={`button primary ${question.isDangerous ? 'danger' : ''}`} disabled={!isReady}>
            {question.action}
          </button>
        </>
      }
    >
      <form id={form} class="stack" onSubmit={submit}>
        {question.body && <div>{question.body}</div>}
        {question.reason && (
          <label class="field">
            <span>
              Reason{' '}
              <span class="muted small">{question.reason === 'optional' ? '(optional; the history records it)' : '(the history records it)'}</span>
            </span>
            <input class="input" value={reason} maxLength={1000} onInput={(event) => setReason(event.currentTarget.value)} autoFocus />
          </label>
        )}
        {question.typed && (
          <label class="field">
            <span>
              Type <code>{question.typed}</code> to confirm
            </span>
            <input class="input mono" value={typed} autoComplete="off" onInput={(event) => setTyped(event.currentTarget.value)} />
          </label>
        )}
        {error && (
          <div class="notice error" role="alert">
            <span>{error.message}</span>
            {error.hint && <span class="muted small">{error.hint}</span>}
          </div>
        )}
      </form>
    </Dialog>
  );
}
