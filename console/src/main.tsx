import { render } from "preact"
import { App } from "./App.tsx"
import "./style.css"

const root = document.getElementById("app")
if (root !== null) {
  // What says that nothing has come up.
  root.replaceChildren()
  render(<App />, root)
}
