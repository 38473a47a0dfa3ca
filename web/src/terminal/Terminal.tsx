import '@xterm/xterm/css/xterm.css';
import { FitAddon } from '@xterm/addon-fit';
import { Terminal as Screen } from '@xterm/xterm';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { TerminalInput, TerminalOutput } from '../api/contract.gen';
import { apiUrl, csrfToken } from '../api/http';
import { say } from '../i18n/say';
import { styleNonce } from '../nonce';

interface Props {
  /** Such as `jobs/default/mpijob/a/replicas/worker-0`. */
  readonly path: string;
  readonly label: string;
}

/** Style elements that are made meanwhile have the nonce that the Content-Security-Policy asks for; xterm cannot be given one. */
function withStyleNonce(action: () => void): void {
  const create = Document.prototype.createElement;
  document.createElement = (tag: string, options?: ElementCreationOptions) => {
    const element = create.call(document, tag, options);
    if (element instanceof HTMLStyleElement) element.nonce = styleNonce();
    return element;
  };
  try {
    action();
  } finally {
    Reflect.deleteProperty(document, 'createElement');
  }
}

function connect(path: string, screen: Screen): WebSocket {
  const address = apiUrl(`${path}/exec?columns=${screen.cols}&rows=${screen.rows}`);
  address.protocol = address.protocol.replace('http', 'ws');
  const socket = new WebSocket(address, ['traincrew.terminal.v1', `csrf.${csrfToken()}`]);
  socket.binaryType = 'arraybuffer';
  return socket;
}

/** A shell in a replica. It ends when the page is left. */
export function Terminal({ path, label }: Props) {
  const { t } = useTranslation();
  const host = useRef<HTMLDivElement>(null);
  const [end, setEnd] = useState('');
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const screen = new Screen({ fontSize: 13, cursorBlink: false });
    const fit = new FitAddon();
    screen.loadAddon(fit);
    withStyleNonce(() => screen.open(element));
    fit.fit();
    screen.textarea?.setAttribute('aria-label', label);
    const socket = connect(path, screen);
    const send = (message: TerminalInput) =>
      socket.readyState === WebSocket.OPEN && socket.send(JSON.stringify(message));
    const encoder = new TextEncoder();
    screen.onData((text) => socket.readyState === WebSocket.OPEN && socket.send(encoder.encode(text)));
    screen.onResize(({ cols, rows }) => send({ type: 'resize', columns: cols, rows }));
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (data instanceof ArrayBuffer) return screen.write(new Uint8Array(data));
      const message = JSON.parse(data) as TerminalOutput;
      setEnd(message.type === 'exit' ? t('failure.exitCode', { code: message.code }) : say(message.error.message));
    };
    socket.onclose = () => setEnd((before) => before || t('terminal.closed'));
    const observer = new ResizeObserver(() => fit.fit());
    observer.observe(element);
    return () => {
      observer.disconnect();
      socket.onclose = null;
      socket.close();
      screen.dispose();
    };
  }, [path, label, t]);
  return (
    <>
      <div ref={host} className="terminal-box" />
      <p role="status" className="quiet">
        {end === '' ? t('terminal.leave') : end}
      </p>
    </>
  );
}
