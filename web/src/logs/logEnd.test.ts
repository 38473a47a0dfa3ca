import { expect, test } from 'vitest';
import type { JobDetail, LogSource } from '../api/contract.gen';
import { endOf } from './logEnd';

const source = (exitCode: number, reason = 'Error') =>
  ({ replica: 'worker-0', pod: 'pi-worker-0', container: 'mpi', exitCode, reason }) as LogSource;
const job = (status: string, ended: string | null) =>
  ({
    summary: { status, ended: '2026-11-15T12:00:10Z' },
    replicas: [{ pod: 'pi-worker-0', containers: [{ name: 'mpi', ended }] }],
  }) as unknown as JobDetail;

test.each([
  ['succeeded', 'with exit code 0', source(0), job('Succeeded', '2026-11-15T12:00:09Z')],
  ['stopped', 'by SIGTERM after the success', source(143), job('Succeeded', '2026-11-15T12:00:10Z')],
  ['stopped', 'by SIGKILL after the success', source(137), job('Succeeded', '2026-11-15T12:00:40Z')],
  ['stopped', 'with the pod, whose end is not known', source(143), job('Succeeded', null)],
  ['failed', 'by SIGTERM before the success', source(143), job('Succeeded', '2026-11-15T12:00:09Z')],
  ['failed', 'by SIGTERM in a job that failed', source(143), job('Failed', '2026-11-15T12:00:11Z')],
  ['failed', 'of an own error after the success', source(1), job('Succeeded', '2026-11-15T12:00:11Z')],
  ['failed', 'for lack of memory', source(137, 'OOMKilled'), job('Succeeded', '2026-11-15T12:00:11Z')],
])('%s: a log ends %s', (end, _, ended, of) => {
  expect(endOf(ended, of)).toBe(end);
});
