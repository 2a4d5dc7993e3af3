import { render } from "preact"
import { App } from "./App.tsx"
import { route } from "./Router.ts"
import { loadView, viewOf } from "./Views.ts"
import "./style.css"

// Beside the workspaces, not behind them; whoever shows it says what went wrong.
const first = viewOf(route.value.path)
if (first !== undefined) loadView(first).catch(() => {})

const root = document.getElementById("app")
if (root !== null) {
  // What says that nothing has come up.
  root.replaceChildren()
  render(<App />, root)
}
