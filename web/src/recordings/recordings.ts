// Recording files that are open in the console. NAME@ID stands for the name of the job of such a file.

import { useQuery } from '@tanstack/react-query';
import type { OpenedRecording, OpenedRecordingList } from '../api/contract.gen';
import { request } from '../api/http';

export const RECORDINGS = ['recordings'];

export function openRecording(file: Blob): Promise<OpenedRecording> {
  return request('POST', 'recordings', { body: file, type: 'application/octet-stream' });
}

export function closeRecording(id: string): Promise<OpenedRecordingList> {
  return request('DELETE', `recordings/${encodeURIComponent(id)}`);
}

export function useRecordings() {
  return useQuery({
    queryKey: RECORDINGS,
    queryFn: ({ signal }) => request<OpenedRecordingList>('GET', 'recordings', { signal }),
  });
}

export function jobParams(recording: OpenedRecording): { namespace: string; kind: string; name: string } {
  return { namespace: recording.namespace, kind: recording.kind, name: `${recording.name}@${recording.id}` };
}
