import { useEffect, useMemo, useSyncExternalStore } from 'react';
import type { ApiError, End } from '../api/contract.gen';
import { stream, type TopicMessage } from '../api/stream';
import { LogWindow } from './logWindow';

const FLUSH = 100;

/** What a view of logs needs. */
export interface Logs {
  readonly window: LogWindow;
  readonly end: End | null;
  readonly error: ApiError | null;
  readonly loaded: boolean;
}

/** The lines of one topic. Many messages become one change of the page. */
class LogFeed implements Logs {
  readonly window = new LogWindow();
  end: End | null = null;
  error: ApiError | null = null;
  loaded = false;
  private version = 0;
  private timer: number | undefined;
  private readonly listeners = new Set<() => void>();

  constructor(private readonly topic: string | null) {}

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  snapshot = (): number => this.version;

  start(): () => void {
    if (this.topic === null) return () => undefined;
    return stream.subscribe(this.topic, {
      receive: (message) => this.receive(message),
      resume: () => ({ positions: this.window.positions() }),
    });
  }

  private receive(message: TopicMessage): void {
    if (message.type === 'logs.snapshot') this.window.clear();
    if (message.type === 'logs.snapshot' || message.type === 'logs.patch') {
      this.window.add(message.data);
      this.loaded = true;
      this.error = null;
      this.end = null;
    } else if (message.type === 'end') {
      this.end = message;
      this.loaded = true;
    } else if (message.type === 'error') this.error = message.error;
    this.timer ??= window.setTimeout(() => this.flush(), FLUSH);
  }

  private flush(): void {
    this.timer = undefined;
    this.version += 1;
    for (const listener of this.listeners) listener();
  }
}

/** Null: no log is read. */
export function useLogs(topic: string | null): LogFeed {
  const feed = useMemo(() => new LogFeed(topic), [topic]);
  useEffect(() => feed.start(), [feed]);
  useSyncExternalStore(feed.subscribe, feed.snapshot);
  return feed;
}
