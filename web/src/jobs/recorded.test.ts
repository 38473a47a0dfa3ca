import { describe, expect, it } from 'vitest';
import { isRecorded, plainName, recordedName } from './recorded';

describe('names of recorded jobs', () => {
  it('are told from names of jobs that exist', () => {
    expect(isRecorded('mnist')).toBe(false);
    expect(isRecorded(recordedName({ name: 'mnist', uid: '1-2' }))).toBe(true);
  });

  it('are shown without the UID', () => {
    expect(plainName(recordedName({ name: 'mnist', uid: '1-2' }))).toBe('mnist');
    expect(plainName('mnist')).toBe('mnist');
  });
});
