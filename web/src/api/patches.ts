// Snapshots and patches of the WebSocket, applied to what the page has. Pure.

import type { JobDetail, JobKey, JobList, JobListPatch, JobPatch, JobSummary } from './contract.gen';

const ids = new WeakMap<JobKey | JobSummary, string>();

/** Kept with the job, which never changes: a message about one of thousands does not write the names of all others again. */
export function jobId(job: JobKey | JobSummary): string {
  const kept = ids.get(job);
  if (kept !== undefined) return kept;
  const id = `${job.namespace}/${job.kind}/${job.name}`;
  ids.set(job, id);
  return id;
}

export function patchJobs(list: JobList, patch: JobListPatch): JobList {
  const jobs = new Map(list.jobs.map((job) => [jobId(job), job]));
  for (const key of patch.removed) if (jobs.get(jobId(key))?.uid === key.uid) jobs.delete(jobId(key));
  for (const job of patch.changed) jobs.set(jobId(job), job);
  return { jobs: [...jobs.values()], counts: patch.counts, total: patch.total, unreadable: patch.unreadable };
}

function merged<T>(before: readonly T[], changed: readonly T[], key: (each: T) => string): T[] {
  const byKey = new Map(before.map((each) => [key(each), each]));
  for (const each of changed) byKey.set(key(each), each);
  return [...byKey.values()];
}

/** The replicas keep the order of the server: by role, then by index. A new one comes after the last of its role. */
function ordered<T extends { role: string; index: number }>(replicas: T[], roles: readonly string[]): T[] {
  return replicas.sort((a, b) => roles.indexOf(a.role) - roles.indexOf(b.role) || a.index - b.index);
}

export function patchJob(job: JobDetail, patch: JobPatch): JobDetail {
  const removed = new Set(patch.removedReplicas);
  const roles = patch.roles ?? job.roles;
  const replicas = merged(job.replicas, patch.replicas, (each) => each.name).filter((each) => !removed.has(each.name));
  const timeline = merged(job.timeline, patch.timeline, (each) => each.replica);
  return {
    summary: patch.summary ?? job.summary,
    roles,
    replicas: ordered(
      replicas,
      roles.map((role) => role.name),
    ),
    moreReplicas: patch.moreReplicas ?? job.moreReplicas,
    timeline: timeline.filter((each) => !removed.has(each.replica)),
    diagnosis: patch.diagnosis ?? job.diagnosis,
    events: merged(job.events, patch.events, (each) => each.uid),
    conditions: patch.conditions ?? job.conditions,
    restarts: patch.restarts ?? job.restarts,
    elastic: patch.elastic ?? job.elastic,
    actions: patch.actions ?? job.actions,
    terminal: patch.terminal ?? job.terminal,
    annotations: patch.annotations ?? job.annotations,
    deleted: job.deleted,
    recording: job.recording,
  };
}
