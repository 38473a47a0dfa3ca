// Images of jobs that were submitted from this browser, the latest first.

import { userKey } from '../api/http';

const KEY = 'traincrew.images';
const KEPT = 12;

export function withImages(before: readonly string[], images: readonly string[]): string[] {
  return [...new Set([...images.filter((each) => each !== ''), ...before])].slice(0, KEPT);
}

export function readImages(stored: string | null): string[] {
  try {
    const value: unknown = JSON.parse(stored ?? '[]');
    return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
  } catch {
    return [];
  }
}

export const recentImages = (): string[] => readImages(localStorage.getItem(userKey(KEY)));

export function rememberImages(images: readonly string[]): void {
  localStorage.setItem(userKey(KEY), JSON.stringify(withImages(recentImages(), images)));
}
