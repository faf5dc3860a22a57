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
    // Small pages share a file: they compress better together than apart.
    rolldownOptions: {
      output: {
        advancedChunks: {
          includeDependenciesRecursively: false,
          groups: [
            { name: 'ui', priority: 1, test: /src\/(?!pages|library|main|styles|components\/Chart)|node_modules\/(@?preact)/ },
            { name: 'operate', test: /src\/pages\/(Keys|Pauses|Limits|Groups|Archive|Settings|Webhooks|Schedules|Pipelines|Machines|limits|settings|webhooks|schedules|pipelines|machines)\b/ },
            { name: 'library', test: /src\/(library|pages\/Videos?\b)/ },
          ],
        },
      },
    },
  },
  worker: { format: 'es' },
  server: {
    proxy: Object.fromEntries(['/api', '/signin', '/signout', '/health', '/media', '/videos'].map((path) => [path, server])),
  },
});
