// The one WebSocket of the tab. Topics are subscribed again after a lost connection, from where they stopped.

import type { ClusterState, ConsoleMessage, PageMessage } from './contract.gen';
import { apiUrl, csrfToken, RequestError, request } from './http';

export type Connection = 'connecting' | 'open' | 'lost' | 'signedOut';
export type TopicMessage = Extract<ConsoleMessage, { topic: string }>;

export interface Subscription {
  receive(message: TopicMessage): void;
  /** Where a lost subscription continues. */
  resume(): { cursor?: string; positions?: Record<string, string> };
}

export interface StreamState {
  readonly connection: Connection;
  readonly cluster: ClusterState | null;
  /** When the last message came, in milliseconds. The state that is shown is as old as this once the connection is lost. */
  readonly heard: number;
}

const SILENCE = 35_000;
const FIRST_WAIT = 500;
const LONGEST_WAIT = 10_000;

export class Stream {
  private socket: WebSocket | null = null;
  private readonly subscriptions = new Map<string, Subscription & { users: number }>();
  private readonly listeners = new Set<() => void>();
  private wait = FIRST_WAIT;
  private timer: number | undefined;
  private watchdog: number | undefined;
  private heard = 0;
  state: StreamState = { connection: 'connecting', cluster: null, heard: 0 };

  connect(): void {
    window.clearTimeout(this.timer);
    if (this.state.connection === 'signedOut') this.change({ connection: 'connecting' });
    const address = apiUrl('stream');
    address.protocol = address.protocol.replace('http', 'ws');
    const socket = new WebSocket(address, ['traincrew.v1', `csrf.${csrfToken()}`]);
    this.socket = socket;
    socket.onopen = () => this.opened();
    socket.onmessage = (event: MessageEvent<string>) => this.received(JSON.parse(event.data) as ConsoleMessage);
    socket.onclose = () => {
      if (this.socket === socket) void this.lost();
    };
  }

  /** Parts of a page that use the same topic share one subscription. */
  subscribe(topic: string, subscription: Subscription): () => void {
    const shared = this.subscriptions.get(topic) ?? { ...subscription, users: 0 };
    shared.users += 1;
    if (shared.users === 1) {
      this.subscriptions.set(topic, shared);
      this.sendSubscribe(topic, shared);
    }
    return () => {
      shared.users -= 1;
      if (shared.users > 0) return;
      this.subscriptions.delete(topic);
      this.send({ type: 'unsubscribe', topic });
    };
  }

  listen = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  snapshot = (): StreamState => this.state;

  private opened(): void {
    this.wait = FIRST_WAIT;
    this.hear();
    this.change({ connection: 'open' });
    for (const [topic, subscription] of this.subscriptions) this.sendSubscribe(topic, subscription);
  }

  private received(message: ConsoleMessage): void {
    this.hear();
    if (message.type === 'cluster') this.change({ cluster: message });
    else if ('topic' in message) this.subscriptions.get(message.topic)?.receive(message);
  }

  private hear(): void {
    this.heard = Date.now();
    window.clearTimeout(this.watchdog);
    this.watchdog = window.setTimeout(() => this.socket?.close(), SILENCE);
  }

  /** A refused handshake and a dead server look the same to a page: a request tells them apart. */
  private async lost(): Promise<void> {
    this.socket = null;
    window.clearTimeout(this.watchdog);
    this.change({ connection: (await this.isSignedOut()) ? 'signedOut' : 'lost' });
    if (this.state.connection === 'signedOut') return;
    this.timer = window.setTimeout(() => this.connect(), this.wait);
    this.wait = Math.min(LONGEST_WAIT, this.wait * 2);
  }

  private async isSignedOut(): Promise<boolean> {
    try {
      await request('GET', 'session', { once: true });
      return false;
    } catch (error) {
      return error instanceof RequestError && error.problem.reason === 'SignInRequired';
    }
  }

  private sendSubscribe(topic: string, subscription: Subscription): void {
    const { cursor = '', positions = {} } = subscription.resume();
    this.send({ type: 'subscribe', topic, cursor, positions });
  }

  private send(message: PageMessage): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  private change(part: Partial<StreamState>): void {
    this.state = { ...this.state, ...part, heard: this.heard };
    for (const listener of this.listeners) listener();
  }
}

export const stream = new Stream();
