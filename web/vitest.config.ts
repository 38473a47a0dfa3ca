import { defineConfig } from 'vitest/config';

// Tests end by what they find, not by the speed of the machine.
export default defineConfig({ test: { testTimeout: 120_000 } });
