import { signal } from '@preact/signals';
import { ApiError } from '../api/client';
import { Icon } from './Icon';

interface Notice {
  id: number;
  text: string;
  hint: string | null;
  kind: 'done' | 'error';
  action: { label: string; run: () => void } | null;
}

export interface ToastOptions {
  hint?: string | null;
  /** A button on the notice, such as “Undo”. */
  action?: { label: string; run: () => void };
  seconds?: number;
}

const notices = signal<Notice[]>([]);
let last = 0;

/** Show a notice for a while. */
export function toast(text: string, kind: 'done' | 'error' = 'done', options: ToastOptions = {}): void {
  const id = ++last;
  const made = { id, text, hint: options.hint ?? null, kind, action: options.action ?? null };
  notices.value = [...notices.value.slice(-3), made];
  setTimeout(() => dismiss(id), (options.seconds ?? (kind === 'error' ? 12 : 5)) * 1000);
}

/** Show an error with its hint. */
export function toastError(error: unknown): void {
  if (error instanceof ApiError) toast(error.message, 'error', { hint: error.hint });
  else toast(String(error), 'error');
}

function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {notices.value.map((notice) => (
        <div key={notice.id} class={`toast ${notice.kind}`}>
          <div class="grow">
            {notice.text}
            {notice.hint && <div class="muted small">{notice.hint}</div>}
          </div>
          {notice.action && (
            <button
              type="button"
              class="button small"
              onClick={() => {
                notice.action?.run();
                dismiss(notice.id);
              }}
            >
              {notice.action.label}
            </button>
          )}
          <button type="button" class="button quiet icon small" aria-label="Dismiss" onClick={() => dismiss(notice.id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
