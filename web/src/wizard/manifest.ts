// The YAML text is the only state of the wizard. The form shows a projection of it and changes it in place: comments and keys that
// the form does not know stay as they are.

import { type Document, isCollection, LineCounter, parseDocument } from 'yaml';

export type Path = readonly (string | number)[];
/** A value at a path; undefined deletes the key. */
export type Change = readonly [Path, unknown];

export interface TextProblem {
  readonly line: number;
  readonly message: string;
}

export interface Parsed {
  readonly document: Document;
  readonly problems: readonly TextProblem[];
}

export function parse(text: string): Parsed {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const problems = document.errors.map((error) => ({
    line: lines.linePos(error.pos[0]).line,
    message: error.message.split('\n')[0] ?? error.message,
  }));
  return { document, problems };
}

/** Collections that mean nothing when they are empty: the form removes them with their last entry. */
const OPTIONAL = new Set<string | number>([
  'annotations',
  'labels',
  'resources',
  'requests',
  'limits',
  'env',
  'volumes',
  'volumeMounts',
  'elasticPolicy',
  'runPolicy',
  'schedulingPolicy',
  'lifecycle',
  'nodeSelector',
]);

/** The text with other values. Everything else stays. */
export function edited(text: string, changes: readonly Change[]): string {
  const { document } = parse(text);
  for (const [path, value] of changes) {
    if (value !== undefined) document.setIn(path, typeof value === 'object' ? document.createNode(value) : value);
    else if (document.hasIn(path)) remove(document, path);
  }
  return document.toString({ lineWidth: 0 });
}

function remove(document: Document, path: Path): void {
  document.deleteIn(path);
  const parent = path.slice(0, -1);
  const left = document.getIn(parent);
  if (OPTIONAL.has(parent.at(-1) ?? '') && isCollection(left) && left.items.length === 0) remove(document, parent);
}
