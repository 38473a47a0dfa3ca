import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// Addresses of assets are relative to <base href>, which the server sets: the console works under any path prefix.
export default defineConfig({
  base: './',
  plugins: [react()],
  html: { cspNonce: '__CSP_NONCE__' },
  build: {
    outDir: '../src/traincrew/console/page',
    emptyOutDir: true,
    target: 'es2022',
    // An asset inlined as data: would need a wider Content-Security-Policy.
    assetsInlineLimit: 0,
    // What the first page needs is one file: many small ones are larger together, and each has its headers.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'first', tags: ['$initial'] }] } } },
    chunkSizeWarningLimit: 1000,
    reportCompressedSize: false,
  },
});
