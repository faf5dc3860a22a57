import { useState } from 'preact/hooks';
import { Icon } from './Icon';
import { toast } from './Toast';

/** Copy text; on plain HTTP, where the clipboard API is missing, by way of a selection. */
export async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard && globalThis.isSecureContext) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // The permission was refused; the selection may still work.
    }
  }
  const area = document.createElement('textarea');
  area.value = text;
  area.readOnly = true;
  area.className = 'visually-hidden';
  const focused = document.activeElement;
  // A modal dialog makes everything outside of it inert, so the field must be inside.
  (document.querySelector('dialog[open]') ?? document.body).append(area);
  area.select();
  const copied = document.execCommand('copy');
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return copied;
}

export function CopyButton({ text, label = 'Copy' }: { text: string | (() => string); label?: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async (event: Event) => {
    event.stopPropagation();
    event.preventDefault();
    if (await copyText(typeof text === 'function' ? text() : text)) {
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    } else toast('The browser does not permit copying. Select the text instead.', 'error');
  };
  const shown = isCopied ? 'Copied' : label;
  return (
    <button type="button" class="button quiet icon small" aria-label={shown} title={shown} onClick={copy}>
      <Icon name={isCopied ? 'check' : 'copy'} />
    </button>
  );
}

/** A command to paste into a terminal. */
export function Command({ text }: { text: string }) {
  return (
    <div class="command">
      <code>{text}</code>
      <CopyButton text={text} label="Copy the command" />
    </div>
  );
}
