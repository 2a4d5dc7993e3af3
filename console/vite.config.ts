import { defineConfig } from "vite"

/** Of the service that `vite console` asks, which serves the console alone. */
const service = "http://127.0.0.1:3000"

export default defineConfig(({ command }) => ({
  root: import.meta.dirname,
  base: command === "build" ? "/console/" : "/",
  publicDir: false,
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2023",
    assetsDir: ".",
    // Small files as data: addresses would be foreign to the policy of the page.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false
  },
  server: {
    proxy: {
      "^/(api|v1|health|openapi.json|docs|metrics|favicon.ico)": process.env.AGENTD_URL ?? service
    }
  }
}))
