// The YAML text is the only state of the wizard. The form shows a projection of it and changes it in place: comments and keys that
// the form does not know stay as they are.

import { type Document, isCollection, LineCounter, parseAllDocuments, parseDocument } from 'yaml';

export type Path = readonly (string | number)[];
/** A value at a path; undefined deletes the key. */
export type Change = readonly [Path, unknown];

export interface TextProblem {
  readonly line: number;
  readonly message: string;
}

export interface Parsed {
  /** That of the job. */
  readonly document: Document;
  readonly problems: readonly TextProblem[];
  /** Other objects, such as a ConfigMap: they are created with the job, and the form leaves them alone. */
  readonly others: number;
  /** Where the document begins and ends in the text. */
  readonly range: readonly [number, number];
}

const JOB = /^kubeflow\.org\//;

export function parse(text: string): Parsed {
  const lines = new LineCounter();
  const documents = [...parseAllDocuments(text, { lineCounter: lines })];
  const problems = documents
    .flatMap((each) => each.errors)
    .map((error) => ({
      line: lines.linePos(error.pos[0]).line,
      message: error.message.split('\n')[0] ?? error.message,
    }));
  const at = Math.max(
    0,
    documents.findIndex((each) => JOB.test(String(each.get('apiVersion')))),
  );
  return {
    document: documents[at] ?? parseDocument(text),
    problems,
    others: documents.filter((each, index) => index !== at && isCollection(each.contents)).length,
    // Comments before the first document belong to it.
    range: [at === 0 ? 0 : (documents[at]?.range?.[0] ?? 0), documents[at + 1]?.range?.[0] ?? text.length],
  };
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
  const { document, range } = parse(text);
  for (const [path, value] of changes) {
    if (value !== undefined) document.setIn(path, typeof value === 'object' ? document.createNode(value) : value);
    else if (document.hasIn(path)) remove(document, path);
  }
  return text.slice(0, range[0]) + document.toString({ lineWidth: 0 }) + text.slice(range[1]);
}

function remove(document: Document, path: Path): void {
  document.deleteIn(path);
  const parent = path.slice(0, -1);
  const left = document.getIn(parent);
  if (OPTIONAL.has(parent.at(-1) ?? '') && isCollection(left) && left.items.length === 0) remove(document, parent);
}
