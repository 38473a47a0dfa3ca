// The YAML text is the only state of the wizard. The form shows a projection of it and changes it in place: comments and keys that
// the form does not know stay as they are.

import { type Document, LineCounter, parseDocument } from 'yaml';
import type { KindInfo } from '../api/contract.gen';
import { trainingContainer } from './starters';

export const DESCRIPTION = 'traincrew.kubeflow.org/description';

export type Path = readonly (string | number)[];

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

/** The text with other values; undefined deletes a key. Everything else stays. */
export function edited(text: string, changes: readonly (readonly [Path, unknown])[]): string {
  const { document } = parse(text);
  for (const [path, value] of changes) {
    if (value === undefined) {
      if (document.hasIn(path)) document.deleteIn(path);
    } else document.setIn(path, typeof value === 'object' ? document.createNode(value) : value);
  }
  return document.toString({ lineWidth: 0 });
}

export interface RoleForm {
  readonly name: string;
  /** The place of the training container among the containers of the pod. */
  readonly container: number;
  readonly replicas: number;
  readonly image: string;
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly requests: Readonly<Record<string, string>>;
  readonly limits: Readonly<Record<string, string>>;
  readonly restartPolicy: string;
}

export interface Form {
  readonly apiVersion: string;
  readonly kindName: string;
  readonly name: string;
  readonly namespace: string;
  readonly description: string;
  readonly slotsPerWorker: number;
  readonly roles: readonly RoleForm[];
  readonly cleanPodPolicy: string;
  readonly backoffLimit: string;
  readonly activeDeadlineSeconds: string;
  readonly ttlSecondsAfterFinished: string;
}

type Tree = Record<string, unknown>;

function tree(value: unknown): Tree {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Tree) : {};
}

function text(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.map(text) : [];
}

function textsByKey(value: unknown): Record<string, string> {
  return Object.fromEntries(Object.entries(tree(value)).map(([key, each]) => [key, text(each)]));
}

/** What the form shows of a manifest. What is missing or has another type is empty. */
export function project(document: Document, kinds: readonly KindInfo[]): Form {
  const root = tree(document.toJS());
  const spec = tree(root.spec);
  const metadata = tree(root.metadata);
  const kind = kinds.find((each) => each.kindName === root.kind);
  const policy = { ...spec, ...tree(spec.runPolicy) };
  const replicaSpecs = tree(spec[kind?.replicasField ?? '']);
  return {
    apiVersion: text(root.apiVersion),
    kindName: text(root.kind),
    name: text(metadata.name),
    namespace: text(metadata.namespace),
    description: text(tree(metadata.annotations)[DESCRIPTION]),
    slotsPerWorker: Number(spec.slotsPerWorker ?? 1) || 1,
    roles: Object.entries(replicaSpecs).map(([name, value]) => projectRole(name, tree(value), trainingContainer(kind))),
    cleanPodPolicy: text(policy.cleanPodPolicy),
    backoffLimit: text(policy.backoffLimit),
    activeDeadlineSeconds: text(policy.activeDeadlineSeconds),
    ttlSecondsAfterFinished: text(policy.ttlSecondsAfterFinished),
  };
}

function projectRole(name: string, role: Tree, training: string): RoleForm {
  const found = tree(tree(role.template).spec).containers;
  const containers = Array.isArray(found) ? found.map(tree) : [];
  const index = Math.max(
    0,
    containers.findIndex((each) => each.name === training),
  );
  const container = containers[index] ?? {};
  const resources = tree(container.resources);
  return {
    name,
    container: index,
    replicas: Number(role.replicas ?? 1),
    image: text(container.image),
    command: texts(container.command),
    args: texts(container.args),
    requests: textsByKey(resources.requests),
    limits: textsByKey(resources.limits),
    restartPolicy: text(role.restartPolicy),
  };
}

export function containerPath(kind: KindInfo, role: Pick<RoleForm, 'name' | 'container'>): Path {
  return ['spec', kind.replicasField, role.name, 'template', 'spec', 'containers', role.container];
}
