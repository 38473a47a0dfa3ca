import { useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useShortcutsOn } from './shortcuts';

/** After `g`, the key of a page. */
const PAGES = { j: '/jobs', n: '/nodes', q: '/queues', t: '/templates' } as const;
const PAUSE = 1_500;

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** `g` and a second key go to a page. The second key has its other meaning only without `g`. */
export function useGoKeys(): void {
  const navigate = useNavigate();
  const on = useShortcutsOn();
  useEffect(() => {
    if (!on) return;
    let pressed = Number.NEGATIVE_INFINITY;
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const isSecond = event.timeStamp - pressed < PAUSE;
      pressed = event.key === 'g' ? event.timeStamp : Number.NEGATIVE_INFINITY;
      if (!isSecond || !(event.key in PAGES)) return;
      event.preventDefault();
      event.stopPropagation();
      void navigate({ to: PAGES[event.key as keyof typeof PAGES] });
    };
    // Before all other keys of the page.
    window.addEventListener('keydown', onKey, { capture: true });
    return () => window.removeEventListener('keydown', onKey, { capture: true });
  }, [navigate, on]);
}
