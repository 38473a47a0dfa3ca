import { expect, test } from 'vitest';
import { withModifier } from './modifierKey';

test('shortcuts are named as the keyboard has them', () => {
  expect(withModifier('K', 'MacIntel')).toBe('⌘K');
  expect(withModifier('K', 'Linux x86_64')).toBe('Ctrl+K');
  expect(withModifier('K', 'Win32')).toBe('Ctrl+K');
});
