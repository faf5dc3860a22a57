import { CopyButton } from './Copy';

/** A JSON document, indented, with a button that copies it. */
export function Json({ value, label }: { value: unknown; label: string }) {
  const text = JSON.stringify(value, null, 2);
  return (
    <div class="json">
      <div class="json-copy">
        <CopyButton text={text} label={`Copy ${label}`} />
      </div>
      <pre class="pre" tabIndex={0} aria-label={label}>
        {text}
      </pre>
    </div>
  );
}
