// What the form shows of a manifest. What is missing or has another type is empty.

import type { Document } from 'yaml';
import type { KindInfo } from '../api/contract.gen';
import type { Path } from './manifest';
import { trainingContainer } from './starters';

export const DESCRIPTION = 'traincrew.kubeflow.org/description';
export const QUEUE = 'kueue.x-k8s.io/queue-name';
export const SCALING = 'traincrew.kubeflow.org/scaling';

export type Tree = Readonly<Record<string, unknown>>;

export interface RoleForm {
  readonly name: string;
  /** The place of the training container among the containers of the pod. */
  readonly container: number;
  readonly replicas: number;
  readonly restartPolicy: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly requests: Readonly<Record<string, string>>;
  readonly limits: Readonly<Record<string, string>>;
  /** The template of the pods, its spec, and the training container in it. */
  readonly template: Tree;
  readonly pod: Tree;
  readonly main: Tree;
}

export interface Form {
  readonly apiVersion: string;
  readonly kindName: string;
  readonly name: string;
  readonly namespace: string;
  readonly description: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly slotsPerWorker: number;
  readonly roles: readonly RoleForm[];
  readonly spec: Tree;
}

export function tree(value: unknown): Tree {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Tree) : {};
}

export function trees(value: unknown): Tree[] {
  return Array.isArray(value) ? value.map(tree) : [];
}

export function text(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.map(text) : [];
}

export function textsByKey(value: unknown): Record<string, string> {
  return Object.fromEntries(Object.entries(tree(value)).map(([key, each]) => [key, text(each)]));
}

export function project(document: Document, kinds: readonly KindInfo[]): Form {
  const root = tree(document.toJS());
  const spec = tree(root.spec);
  const metadata = tree(root.metadata);
  const annotations = textsByKey(metadata.annotations);
  const kind = kinds.find((each) => each.kindName === root.kind);
  const replicaSpecs = tree(spec[kind?.replicasField ?? '']);
  return {
    apiVersion: text(root.apiVersion),
    kindName: text(root.kind),
    name: text(metadata.name),
    namespace: text(metadata.namespace),
    description: annotations[DESCRIPTION] ?? '',
    labels: textsByKey(metadata.labels),
    annotations,
    slotsPerWorker: Number(spec.slotsPerWorker ?? 1) || 1,
    roles: Object.entries(replicaSpecs).map(([name, value]) => projectRole(name, tree(value), trainingContainer(kind))),
    spec,
  };
}

function projectRole(name: string, role: Tree, training: string): RoleForm {
  const template = tree(role.template);
  const pod = tree(template.spec);
  const containers = trees(pod.containers);
  const container = Math.max(
    0,
    containers.findIndex((each) => each.name === training),
  );
  const main = containers[container] ?? {};
  const resources = tree(main.resources);
  return {
    name,
    container,
    replicas: Number(role.replicas ?? 1),
    restartPolicy: text(role.restartPolicy),
    image: text(main.image),
    command: texts(main.command),
    args: texts(main.args),
    requests: textsByKey(resources.requests),
    limits: textsByKey(resources.limits),
    template,
    pod,
    main,
  };
}

export function rolePath(kind: KindInfo, role: Pick<RoleForm, 'name'>): Path {
  return ['spec', kind.replicasField, role.name];
}

export function podPath(kind: KindInfo, role: Pick<RoleForm, 'name'>): Path {
  return [...rolePath(kind, role), 'template', 'spec'];
}

export function containerPath(kind: KindInfo, role: Pick<RoleForm, 'name' | 'container'>): Path {
  return [...podPath(kind, role), 'containers', role.container];
}

const POLICY = 'runPolicy';

/** Older manifests have the run policy in the spec itself; its fields are changed where they are. */
export function policyPath(form: Form, field: string): Path {
  const inside = tree(form.spec[POLICY])[field] !== undefined;
  return form.spec[field] !== undefined && !inside ? ['spec', field] : ['spec', POLICY, field];
}

export function policyText(form: Form, field: string): string {
  return text(tree(form.spec[POLICY])[field] ?? form.spec[field]);
}
