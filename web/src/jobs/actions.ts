import type { ActionName, ActionResult, JobSummary } from '../api/contract.gen';
import { request } from '../api/http';

export type JobAddress = Pick<JobSummary, 'namespace' | 'kind' | 'name'>;

export function jobPath(job: JobAddress): string {
  return `jobs/${[job.namespace, job.kind, job.name].map(encodeURIComponent).join('/')}`;
}

export function isFinished(job: JobSummary): boolean {
  return job.status === 'Succeeded' || job.status === 'Failed';
}

export interface ActionInput {
  readonly replicas?: number;
  readonly force?: boolean;
  readonly name?: string;
}

export function act(
  action: ActionName,
  job: JobAddress & { uid: string },
  input: ActionInput = {},
): Promise<ActionResult> {
  if (action === 'delete') return request('DELETE', jobPath(job), { body: JSON.stringify({ uid: job.uid }) });
  const body = action === 'scale' || action === 'rerun' ? { body: JSON.stringify(input) } : {};
  return request('POST', `${jobPath(job)}:${action}`, body);
}

/** Whether the state of a job allows an action. The server decides; this only says which buttons are of use. */
export function isUseful(action: ActionName, job: JobSummary): boolean {
  if (job.status === 'Deleting') return false;
  if (action === 'suspend') return !isFinished(job) && job.status !== 'Suspended';
  if (action === 'resume') return job.status === 'Suspended';
  return true;
}
