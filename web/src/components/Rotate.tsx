import { useState } from 'preact/hooks';
import { Field, FormDialog } from './Field';

const DAY = 86_400;

/** Replace a key or a secret: for how long the old one works beside the new one is chosen. */
export function RotateDialog(props: {
  title: string;
  text: string;
  action: string;
  label: string;
  /** The words for no overlap, and those before `1 day`. */
  words: { none: string; for: string };
  onClose: () => void;
  rotate: (overlap: number) => Promise<void>;
}) {
  const [overlap, setOverlap] = useState(DAY);
  const { none, for: before } = props.words;
  return (
    <FormDialog title={props.title} action={props.action} onClose={props.onClose} submit={() => props.rotate(overlap)}>
      <p class="muted">{props.text}</p>
      <Field label={props.label}>
        <select class="select" value={String(overlap)} onChange={(event) => setOverlap(Number(event.currentTarget.value))}>
          <option value="0">{none}</option>
          <option value="3600">{before} 1 hour</option>
          <option value={String(DAY)}>{before} 1 day</option>
          <option value={String(7 * DAY)}>{before} 7 days</option>
        </select>
      </Field>
    </FormDialog>
  );
}
