import { useState } from 'preact/hooks';
import { copyText } from './Copy';
import { Dialog } from './Dialog';
import { Icon } from './Icon';

export interface ShownSecret {
  title: string;
  /** What the secret is for, and that it is not shown again. */
  text: string;
  secret: string;
}

/** Show a secret that the server returns only once. The dialog closes by its button alone. */
export function SecretDialog({ shown, onClose }: { shown: ShownSecret; onClose: () => void }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <Dialog
      title={shown.title}
      onClose={() => undefined}
      foot={
        <button type="button" class="button primary" onClick={onClose}>
          I have stored it
        </button>
      }
    >
      <p>{shown.text}</p>
      <div class="command">
        <code data-secret>{shown.secret}</code>
        <button type="button" class="button small" onClick={async () => setCopied(await copyText(shown.secret))}>
          <Icon name={isCopied ? 'check' : 'copy'} /> {isCopied ? 'Copied' : 'Copy'}
        </button>
      </div>
    </Dialog>
  );
}
