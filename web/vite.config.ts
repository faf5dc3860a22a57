import { defineConfig } from 'vite';

const server = process.env.REEL_DASHBOARD_SERVER ?? 'http://127.0.0.1:8700';

export default defineConfig({
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../src/reelstate/api/static',
    emptyOutDir: true,
    sourcemap: false,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
  },
  worker: { format: 'es' },
  server: {
    proxy: Object.fromEntries(['/api', '/signin', '/signout', '/health', '/media', '/videos'].map((path) => [path, server])),
  },
});
