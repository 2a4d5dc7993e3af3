import { defineConfig, type Plugin, type Rolldown } from "vite"

/** Of the service that `vite console` asks, which serves the console alone. */
const service = "http://127.0.0.1:3000"

const base = "/console/"

/** What most people see first: asked for with the page, and not only when the entry has been read. */
const firstView = "/views/Runs/Runs.tsx"

const isChunk = (
  file: Rolldown.OutputAsset | Rolldown.OutputChunk | undefined
): file is Rolldown.OutputChunk => file?.type === "chunk"

/** Names the parts of the first view in the page: its modules, and the styles that it would wait for. */
const preloadFirstView: Plugin = {
  name: "preload-first-view",
  apply: "build",
  transformIndexHtml: {
    order: "post",
    handler: (html, { bundle = {} }) => {
      const view = Object.values(bundle)
        .filter(isChunk)
        .find(({ facadeModuleId }) => facadeModuleId?.endsWith(firstView) === true)
      const chunks = new Map<string, Rolldown.OutputChunk>()
      const add = (chunk: Rolldown.OutputChunk) => {
        if (chunks.has(chunk.fileName)) return
        chunks.set(chunk.fileName, chunk)
        for (const name of chunk.imports) {
          const imported = bundle[name]
          if (isChunk(imported)) add(imported)
        }
      }
      if (view === undefined) throw new Error(`no part of the console is made of ${firstView}`)
      add(view)
      const modules = [...chunks.values()].map(({ fileName }) => fileName)
      const styles = [...chunks.values()].flatMap(({ viteMetadata }) => [
        ...(viteMetadata?.importedCss ?? [])
      ])
      const link = (rel: string, name: string) => ({
        tag: "link",
        attrs: { rel, crossorigin: true, href: `${base}${name}` },
        injectTo: "head" as const
      })
      return [
        ...modules
          .filter((name) => !html.includes(`"${base}${name}"`))
          .map((name) => link("modulepreload", name)),
        ...styles.filter((name) => !html.includes(`"${base}${name}"`)).map((name) => link("stylesheet", name))
      ]
    }
  }
}

export default defineConfig(({ command }) => ({
  root: import.meta.dirname,
  base: command === "build" ? base : "/",
  publicDir: false,
  envDir: false,
  plugins: [preloadFirstView],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2023",
    // Those that know `light-dark()`, which nobody has to write otherwise then.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    assetsDir: ".",
    // Small files as data: addresses would be foreign to the policy of the page.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false
  },
  server: {
    proxy: {
      "^/(api|v1|health|openapi.json|docs|metrics|favicon.ico)": {
        target: process.env.AGENTD_URL ?? service,
        // With another host than that of its origin, a request by cookie is refused.
        changeOrigin: false
      }
    }
  }
}))
