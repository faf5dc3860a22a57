import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { ApiError } from '../api/client';
import { Dialog } from './Dialog';

/** A labelled field. The label wraps its control, so that no ids are needed. */
export function Field(props: { label: ComponentChildren; hint?: ComponentChildren; error?: string | null | undefined; children: ComponentChildren }) {
  return (
    <label class="field">
      <span>{props.label}</span>
      {props.children}
      {props.error ? (
        <span class="field-error" role="alert">
          {props.error}
        </span>
      ) : (
        props.hint && <span class="field-hint">{props.hint}</span>
      )}
    </label>
  );
}

/** A notice with the message of an error and its hint. */
export function ErrorNotice({ error }: { error: ApiError | null }) {
  if (!error) return null;
  return (
    <div class="notice error" role="alert">
      <span>{error.message}</span>
      {error.hint && <span class="muted small">{error.hint}</span>}
    </div>
  );
}

/** A dialog with a form: an error of `submit` is shown in it, and it stays open. */
export function FormDialog(props: {
  title: string;
  action: string;
  onClose: () => void;
  submit: () => Promise<void>;
  isReady?: boolean;
  isWide?: boolean;
  isDangerous?: boolean;
  children: ComponentChildren;
}) {
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const form = useId();
  const isReady = !isBusy && props.isReady !== false;
  const submit = async (event: Event) => {
    event.preventDefault();
    if (!isReady) return;
    setBusy(true);
    setError(null);
    try {
      await props.submit();
    } catch (refused) {
      setError(refused instanceof ApiError ? refused : new ApiError(0, String(refused)));
    }
    setBusy(false);
  };
  return (
    <Dialog
      title={props.title}
      onClose={props.onClose}
      isWide={props.isWide ?? false}
      foot={
        <>
          <button type="button" class="button" onClick={props.onClose}>
            Back
          </button>
          <button type="submit" form={form} class={`button primary ${props.isDangerous ? 'danger' : ''}`} disabled={!isReady}>
            {props.action}
          </button>
        </>
      }
    >
      <form id={form} class="stack" onSubmit={submit}>
        {props.children}
        <ErrorNotice error={error} />
      </form>
    </Dialog>
  );
}
