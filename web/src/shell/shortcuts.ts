// Keys of one character, which speech input and shaking hands press by accident: the user can turn them off (WCAG 2.1.4).

import { type HotkeyItem, useHotkeys } from '@mantine/hooks';
import { useSyncExternalStore } from 'react';

const KEY = 'traincrew.shortcuts';
const OFF = 'off';
const listeners = new Set<() => void>();

export function isSingleKey(keys: string): boolean {
  return /^(shift\+)?.$/i.test(keys);
}

function isOn(): boolean {
  return localStorage.getItem(KEY) !== OFF;
}

export function setShortcuts(on: boolean): void {
  if (on) localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, OFF);
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener('storage', listener); // another tab
  return () => {
    listeners.delete(listener);
    window.removeEventListener('storage', listener);
  };
}

export const useShortcutsOn = (): boolean => useSyncExternalStore(subscribe, isOn);

/** Keys of the page. Those of one character are without effect if the user has turned them off. */
export function useShortcuts(items: readonly HotkeyItem[], ignoredTags?: string[]): void {
  const on = useShortcutsOn();
  useHotkeys(
    items.filter(([keys]) => on || !isSingleKey(keys)),
    ignoredTags,
  );
}
