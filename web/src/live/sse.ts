/** A parser of server-sent events that takes the text in pieces of any size. */

export interface ServerEvent {
  id: string | null;
  event: string;
  data: string;
}

export class EventParser {
  private rest = '';

  /** Return the events that are complete after this piece. */
  push(piece: string): ServerEvent[] {
    const text = this.rest + piece;
    const found: ServerEvent[] = [];
    let start = 0;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n', start)) {
      const event = parse(text.slice(start, end));
      if (event) found.push(event);
      start = end + 2;
    }
    this.rest = text.slice(start);
    return found;
  }
}

function parse(block: string): ServerEvent | null {
  let id: string | null = null;
  let event = 'message';
  let data: string | null = null;
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue;
    const name = line.slice(0, colon);
    const value = line.charCodeAt(colon + 1) === 32 ? line.slice(colon + 2) : line.slice(colon + 1);
    if (name === 'data') data = data === null ? value : `${data}\n${value}`;
    else if (name === 'event') event = value;
    else if (name === 'id') id = value;
  }
  return data === null ? null : { id, event, data };
}
