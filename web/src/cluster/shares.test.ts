import { expect, test } from 'vitest';
import { shareOf } from './shares';

test('parts of a node', () => {
  expect(shareOf('memory', { memory: '1048576Ki' }, { memory: '2Gi' }, { memory: '4Gi' })).toEqual({
    resource: 'memory',
    used: '1Gi',
    asked: '2Gi',
    total: '4Gi',
    usedPart: 0.25,
    askedPart: 0.5,
  });
});

test('a metrics server counts CPU in billionths', () => {
  expect(shareOf('cpu', { cpu: '1500000000n' }, {}, { cpu: '2' })).toMatchObject({ used: '1.5', usedPart: 0.75 });
});

test('what is not known is empty, and more than all is all', () => {
  expect(shareOf('cpu', {}, { cpu: '3' }, { cpu: '2' })).toMatchObject({ used: '', usedPart: null, askedPart: 1 });
  expect(shareOf('cpu', { cpu: '1' }, {}, {})).toMatchObject({ used: '1', total: '', usedPart: null });
});
