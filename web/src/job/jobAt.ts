// A recorded job as it was at a moment: from the changes of its conditions, the phases of its replicas and its events. Pure.

import type {
  Condition,
  ConditionChange,
  Container,
  Event,
  JobDetail,
  JobMetrics,
  PhaseName,
  Replica,
  ReplicaState,
  ReplicaTimeline,
  Status,
} from '../api/contract.gen';

const SECOND = 1000;
const STATES: Record<PhaseName, ReplicaState> = {
  Pending: 'Pending',
  Starting: 'Starting',
  Running: 'Running',
  Succeeded: 'Succeeded',
  Failed: 'Failed',
  Lost: 'Failed',
};
/** The first one that is true is the status. */
const CONDITIONS: readonly Status[] = ['Failed', 'Succeeded', 'Suspended', 'Restarting', 'Running'];

/** Kubernetes has whole seconds: what happens within the second of a moment belongs to it. */
export function isBy(time: string | number | null, moment: number): boolean {
  if (time === null) return false;
  return Math.floor(new Date(time).getTime() / SECOND) <= Math.floor(moment / SECOND);
}

export function jobAt(job: JobDetail, changes: readonly ConditionChange[], moment: number): JobDetail {
  const { summary, diagnosis } = job;
  const timeline = job.timeline.map((row) => timelineAt(row, moment));
  const rows = new Map(timeline.map((row) => [row.replica, row]));
  const replicas = job.replicas.map((each) => replicaAt(each, rows.get(each.name), moment));
  const count = (state: ReplicaState) => replicas.filter((each) => each.state === state).length;
  const known = changes.filter((each) => isBy(each.time, moment));
  const restarted = known.filter((each) => each.type === 'Restarting' && each.status === 'True').length;
  const isOver = isBy(summary.ended, moment);
  const failure = diagnosis.failure !== null && isBy(diagnosis.failure.time, moment) ? diagnosis.failure : null;
  const nothing = { causes: [], evidence: [], pods: [], warnings: [], remedies: [], commands: [] };
  return {
    ...job,
    summary: {
      ...summary,
      status: statusAt(changes, known, count('Running') > 0),
      why: isOver ? summary.why : null,
      stalled: '',
      attempt: Math.min(summary.attempt, restarted + 1),
      started: isBy(summary.started, moment) ? summary.started : null,
      ended: isOver ? summary.ended : null,
      progress: isOver ? summary.progress : null,
      replicas: {
        total: summary.replicas.total,
        ready: count('Running'),
        running: count('Running'),
        succeeded: count('Succeeded'),
        failed: count('Failed'),
      },
    },
    replicas,
    timeline,
    diagnosis: isOver ? { ...diagnosis, failure } : { ...nothing, failure: failure && { ...failure, final: false } },
    events: job.events.flatMap((each) => eventAt(each, moment)),
    conditions: conditionsAt(known),
    restarts: {
      ...job.restarts,
      charged: Math.min(job.restarts.charged, restarted),
      disruptions: Math.min(job.restarts.disruptions, restarted),
    },
  };
}

function conditionsAt(known: readonly ConditionChange[]): Condition[] {
  const last = new Map(known.map(({ time, ...rest }) => [rest.type, { ...rest, since: time }]));
  return [...last.values()];
}

function statusAt(changes: readonly ConditionChange[], known: readonly ConditionChange[], runs: boolean): Status {
  const current = new Map(known.map((each) => [each.type, each.status]));
  const found = CONDITIONS.find((each) => current.get(each) === 'True');
  if (found) return found;
  // A recording without a recorder knows only when each condition changed for the last time.
  if (runs) return 'Running';
  // Every job begins with Created. Without it, older changes are not known any more.
  return known.length > 0 || changes[0]?.type === 'Created' ? 'Starting' : 'Unknown';
}

function timelineAt(row: ReplicaTimeline, moment: number): ReplicaTimeline {
  const phases = row.phases.filter((phase) => isBy(phase.start, moment));
  // A later phase has not begun: the last one lasts.
  const lasts = phases.length < row.phases.length;
  return {
    replica: row.replica,
    phases: phases.map((phase, at) =>
      (lasts && at === phases.length - 1) || !isBy(phase.end, moment) ? { ...phase, end: null } : phase,
    ),
  };
}

function replicaAt(replica: Replica, row: ReplicaTimeline | undefined, moment: number): Replica {
  const phase = row?.phases.at(-1);
  const unknown = { exitCode: null, ended: null, why: '' };
  if (phase === undefined || !isBy(replica.created, moment)) {
    const earlier = phase === undefined ? 'Missing' : STATES[phase.name];
    const none = { pod: '', uid: '', node: '', ip: '', restarts: 0, created: null, started: null, containers: [] };
    return { ...replica, ...unknown, ...none, state: earlier };
  }
  const state = STATES[phase.name];
  if (state === replica.state && isBy(replica.ended, moment)) return replica;
  const containers = replica.containers.map((each) => containerAt(each, moment));
  return {
    ...replica,
    ...unknown,
    state,
    containers,
    node: state === 'Pending' ? '' : replica.node,
    ip: state === 'Running' ? replica.ip : '',
    started: isBy(replica.started, moment) ? replica.started : null,
    restarts: Math.min(
      replica.restarts,
      containers.reduce((sum, each) => sum + each.restarts, 0),
    ),
  };
}

/** Of the runs before the last one, only their number is known. */
function containerAt(container: Container, moment: number): Container {
  if (isBy(container.ended, moment)) return container;
  const started = isBy(container.started, moment);
  const unknown = { exitCode: null, signal: null, reason: '', message: '', ended: null };
  if (started) return { ...container, ...unknown, state: 'Running' };
  return { ...container, ...unknown, state: 'Waiting', ready: false, restarts: 0, started: null };
}

/** Of an event that was repeated, the first and the last time are known. */
function eventAt(event: Event, moment: number): Event[] {
  if (isBy(event.last, moment)) return [event];
  return isBy(event.first, moment) ? [{ ...event, last: event.first, count: 1 }] : [];
}

export function metricsAt(metrics: JobMetrics, moment: number): JobMetrics {
  const cut = <T extends { readonly times: readonly number[] }>(series: T): T => {
    const length = series.times.filter((time) => isBy(time, moment)).length;
    const entries = Object.entries(series).map(([name, value]) => [
      name,
      Array.isArray(value) && value.length === series.times.length ? value.slice(0, length) : value,
    ]);
    return Object.fromEntries(entries) as T;
  };
  return { ...metrics, usage: metrics.usage.map(cut), output: metrics.output.map(cut) };
}

/** How many lines were printed by then. They are in the order of time. */
export function linesAt(lines: readonly { readonly time: string }[], moment: number): number {
  return lines.findLastIndex((line) => line.time !== '' && isBy(line.time, moment)) + 1;
}
